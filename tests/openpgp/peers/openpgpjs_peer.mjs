// The library OpenPGP.js behind lines of JSON: see src/helper.rs. It runs from a folder with its `node_modules`.

import * as openpgp from "openpgp";
import { createInterface } from "node:readline";

const bytes = (digits) => Uint8Array.from(Buffer.from(digits, "hex"));
const hex = (data) => Buffer.from(data).toString("hex");
const isBinary = (data) => (data[0] & 0x80) !== 0;
const text = (data) => Buffer.from(data).toString("utf8");
// GnuPG's packets are read where asked; small RSA-2048 keys and every curve are let in.
const config = { enableParsingV5Entities: true, rejectCurves: new Set() };

const privateKey = async (digits, passphrase) => {
  const key = await openpgp.readPrivateKey({ armoredKey: text(bytes(digits)) });
  return passphrase ? openpgp.decryptKey({ privateKey: key, passphrase }) : key;
};
const publicKey = (digits) => openpgp.readKey({ armoredKey: text(bytes(digits)) });
const readMessage = (data) =>
  openpgp.readMessage({ ...(isBinary(data) ? { binaryMessage: data } : { armoredMessage: text(data) }), config });

const operations = {
  async generate({ user_id, profile, suite }) {
    const [, name, email] = user_id.match(/^(.*) <(.*)>$/);
    const kind = suite === "rsa" ? { type: "rsa", rsaBits: 2048 } : profile === "v6" ? { type: "curve25519" } : { type: "ecc" };
    const made = await openpgp.generateKey({
      ...kind,
      userIDs: [{ name, email }],
      format: "armored",
      config: { v6Keys: profile === "v6" },
    });
    return { secret: hex(made.privateKey), certificate: hex(made.publicKey) };
  },
  async encrypt({ text: plain, recipients, passphrases, signer, options }) {
    const message = await openpgp.createMessage({ binary: bytes(plain) });
    const output = await openpgp.encrypt({
      message,
      encryptionKeys: await Promise.all(recipients.map(publicKey)),
      passwords: passphrases.length ? passphrases : undefined,
      signingKeys: signer ? await privateKey(signer) : undefined,
      format: "binary",
      config: { ...config, aeadProtect: options.includes("aead") },
    });
    return { output: hex(output) };
  },
  async decrypt({ message, key, key_passphrase, passphrase, signer }) {
    const opened = await openpgp.decrypt({
      message: await readMessage(bytes(message)),
      decryptionKeys: key ? await privateKey(key, key_passphrase) : undefined,
      passwords: passphrase === null ? undefined : [passphrase],
      verificationKeys: signer ? await publicKey(signer) : undefined,
      expectSigned: Boolean(signer),
      format: "binary",
      config,
    });
    return { output: hex(opened.data) };
  },
  async sign({ text: plain, kind, signer, key_passphrase }) {
    const signingKeys = await privateKey(signer, key_passphrase);
    if (kind === "cleartext") {
      const message = await openpgp.createCleartextMessage({ text: text(bytes(plain)) });
      return { output: hex(await openpgp.sign({ message, signingKeys, config })) };
    }
    const message = await openpgp.createMessage({ binary: bytes(plain) });
    const detached = kind === "detached";
    return { output: hex(await openpgp.sign({ message, signingKeys, detached, format: "binary", config })) };
  },
  async verify({ signed, text: plain, kind, signer }) {
    const verificationKeys = await publicKey(signer);
    const data = bytes(signed);
    if (kind === "cleartext") {
      const message = await openpgp.readCleartextMessage({ cleartextMessage: text(data) });
      const read = await openpgp.verify({ message, verificationKeys, expectSigned: true, config });
      return { output: hex(read.data) };
    }
    if (kind === "detached") {
      const signature = await openpgp.readSignature(
        isBinary(data) ? { binarySignature: data } : { armoredSignature: text(data) },
      );
      const message = await openpgp.createMessage({ binary: bytes(plain) });
      await openpgp.verify({ message, signature, verificationKeys, expectSigned: true, format: "binary", config });
      return { output: plain };
    }
    const read = await openpgp.verify({
      message: await readMessage(data),
      verificationKeys,
      expectSigned: true,
      format: "binary",
      config,
    });
    return { output: hex(read.data) };
  },
};

for await (const line of createInterface({ input: process.stdin })) {
  const asked = JSON.parse(line);
  let answer;
  try {
    answer = await operations[asked.op](asked);
  } catch (error) {
    answer = { error: String(error) };
  }
  process.stdout.write(`${JSON.stringify(answer)}\n`);
}
