# OpenSC's pkcs11-tool with the token of CCA. In the folder $2 it finds `text`, whole blocks, `odd`, which is none, `key`, 32
# bytes, and `iv` in hexadecimal, and leaves what it made, for OpenSSL to check. The library of openCryptoki is $1.
set -eu
module=$1
cd "$2"
tool() {
    pkcs11-tool --module "$module" --slot 1 "$@"
}
user() {
    tool --login --pin 01234567 "$@"
}
tool --init-token --label cca --so-pin 87654321
tool --login --login-type so --so-pin 87654321 --change-pin --new-pin 76543210
tool --login --login-type so --so-pin 76543210 --init-pin --new-pin 12345678
tool --login --pin 12345678 --change-pin --new-pin 01234567
tool --list-mechanisms >mechanisms
user --test

tool --generate-random 100 --output-file random
for hash in SHA-1 SHA256 SHA384 SHA512; do
    tool --hash --mechanism "$hash" --input-file text --output-file "$hash"
done

# A key that the caller has, in the token: what it makes, OpenSSL makes too.
user --write-object key --type secrkey --key-type AES:32 --id 01 --label imported --usage-decrypt
user --encrypt --mechanism AES-CBC --id 01 --iv "$(cat iv)" --input-file text --output-file aes-cbc
user --decrypt --mechanism AES-CBC --id 01 --iv "$(cat iv)" --input-file aes-cbc --output-file aes-cbc-back
user --encrypt --mechanism AES-CBC-PAD --id 01 --iv "$(cat iv)" --input-file odd --output-file aes-cbc-pad
user --encrypt --mechanism AES-ECB --id 01 --input-file text --output-file aes-ecb

# Keys that nobody has seen.
user --keygen --key-type AES:32 --id 03 --label generated
user --encrypt --mechanism AES-CBC --id 03 --iv "$(cat iv)" --input-file text --output-file unseen
user --decrypt --mechanism AES-CBC --id 03 --iv "$(cat iv)" --input-file unseen --output-file unseen-back
user --keygen --key-type GENERIC:32 --id 02 --label mac --usage-sign
for hash in SHA-1 SHA256 SHA384 SHA512; do
    user --sign --mechanism "$hash-HMAC" --id 02 --input-file text --output-file "hmac-$hash"
done
user --keypairgen --key-type EC:prime256v1 --id 04 --label signer --usage-sign
user --read-object --type pubkey --id 04 --output-file point
user --sign --mechanism ECDSA-SHA256 --id 04 --signature-format openssl --input-file text --output-file signature
# In this form alone: openCryptoki gives the point without its DER header, and the tool takes it for one of 248 bits.
user --sign --mechanism ECDSA-SHA256 --id 04 --signature-format rs --input-file text --output-file signature-rs
user --verify --mechanism ECDSA-SHA256 --id 04 --signature-format rs --input-file text --signature-file signature-rs
user --list-objects >objects
