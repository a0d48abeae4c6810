// The library gopenpgp behind lines of JSON: see src/helper.rs.
package main

import (
	"bufio"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"os"
	"strings"

	"github.com/ProtonMail/gopenpgp/v3/crypto"
	"github.com/ProtonMail/gopenpgp/v3/profile"
)

type request struct {
	Op            string   `json:"op"`
	UserID        string   `json:"user_id"`
	Profile       string   `json:"profile"`
	Text          string   `json:"text"`
	Message       string   `json:"message"`
	Signed        string   `json:"signed"`
	Kind          string   `json:"kind"`
	Recipients    []string `json:"recipients"`
	Passphrases   []string `json:"passphrases"`
	Signer        *string  `json:"signer"`
	Key           *string  `json:"key"`
	KeyPassphrase *string  `json:"key_passphrase"`
	Passphrase    *string  `json:"passphrase"`
}

type answer map[string]string

func octets(digits string) ([]byte, error) { return hex.DecodeString(digits) }

func keyOf(digits string, passphrase *string) (*crypto.Key, error) {
	armored, err := octets(digits)
	if err != nil {
		return nil, err
	}
	key, err := crypto.NewKeyFromArmored(string(armored))
	if err != nil || passphrase == nil {
		return key, err
	}
	return key.Unlock([]byte(*passphrase))
}

func output(bytes []byte) answer { return answer{"output": hex.EncodeToString(bytes)} }

func generate(asked request) (answer, error) {
	chosen := profile.RFC4880()
	if asked.Profile == "v6" {
		chosen = profile.RFC9580()
	}
	name, email, _ := strings.Cut(strings.TrimSuffix(asked.UserID, ">"), " <")
	key, err := crypto.PGPWithProfile(chosen).KeyGeneration().AddUserId(name, email).New().GenerateKey()
	if err != nil {
		return nil, err
	}
	secret, err := key.Armor()
	if err != nil {
		return nil, err
	}
	certificate, err := key.GetArmoredPublicKey()
	return answer{
		"secret":      hex.EncodeToString([]byte(secret)),
		"certificate": hex.EncodeToString([]byte(certificate)),
	}, err
}

func encrypt(asked request) (answer, error) {
	text, err := octets(asked.Text)
	if err != nil {
		return nil, err
	}
	builder := crypto.PGP().Encryption()
	for _, recipient := range asked.Recipients {
		key, err := keyOf(recipient, nil)
		if err != nil {
			return nil, err
		}
		builder = builder.Recipient(key)
	}
	for _, passphrase := range asked.Passphrases {
		builder = builder.Password([]byte(passphrase))
	}
	if asked.Signer != nil {
		key, err := keyOf(*asked.Signer, nil)
		if err != nil {
			return nil, err
		}
		builder = builder.SigningKey(key)
	}
	handle, err := builder.New()
	if err != nil {
		return nil, err
	}
	message, err := handle.Encrypt(text)
	if err != nil {
		return nil, err
	}
	return output(message.Bytes()), nil
}

func decrypt(asked request) (answer, error) {
	message, err := octets(asked.Message)
	if err != nil {
		return nil, err
	}
	builder := crypto.PGP().Decryption()
	if asked.Key != nil {
		key, err := keyOf(*asked.Key, asked.KeyPassphrase)
		if err != nil {
			return nil, err
		}
		builder = builder.DecryptionKey(key)
	}
	if asked.Passphrase != nil {
		builder = builder.Password([]byte(*asked.Passphrase))
	}
	if asked.Signer != nil {
		key, err := keyOf(*asked.Signer, nil)
		if err != nil {
			return nil, err
		}
		builder = builder.VerificationKey(key)
	}
	handle, err := builder.New()
	if err != nil {
		return nil, err
	}
	opened, err := handle.Decrypt(message, crypto.Auto)
	if err != nil {
		return nil, err
	}
	if asked.Signer != nil && opened.SignatureError() != nil {
		return nil, opened.SignatureError()
	}
	return output(opened.Bytes()), nil
}

func sign(asked request) (answer, error) {
	text, err := octets(asked.Text)
	if err != nil {
		return nil, err
	}
	key, err := keyOf(*asked.Signer, asked.KeyPassphrase)
	if err != nil {
		return nil, err
	}
	builder := crypto.PGP().Sign().SigningKey(key)
	if asked.Kind == "detached" {
		builder = builder.Detached()
	}
	handle, err := builder.New()
	if err != nil {
		return nil, err
	}
	var signed []byte
	if asked.Kind == "cleartext" {
		signed, err = handle.SignCleartext(text)
	} else {
		signed, err = handle.Sign(text, crypto.Bytes)
	}
	return output(signed), err
}

func verify(asked request) (answer, error) {
	signed, err := octets(asked.Signed)
	if err != nil {
		return nil, err
	}
	text, err := octets(asked.Text)
	if err != nil {
		return nil, err
	}
	key, err := keyOf(*asked.Signer, nil)
	if err != nil {
		return nil, err
	}
	handle, err := crypto.PGP().Verify().VerificationKey(key).New()
	if err != nil {
		return nil, err
	}
	switch asked.Kind {
	case "detached":
		result, err := handle.VerifyDetached(text, signed, crypto.Auto)
		if err == nil {
			err = result.SignatureError()
		}
		return output(text), err
	case "cleartext":
		result, err := handle.VerifyCleartext(signed)
		if err != nil {
			return nil, err
		}
		return output(result.Cleartext()), result.SignatureError()
	}
	result, err := handle.VerifyInline(signed, crypto.Auto)
	if err != nil {
		return nil, err
	}
	return output(result.Bytes()), result.SignatureError()
}

func main() {
	operations := map[string]func(request) (answer, error){
		"generate": generate, "encrypt": encrypt, "decrypt": decrypt, "sign": sign, "verify": verify,
	}
	lines := bufio.NewReader(os.Stdin)
	for {
		line, err := lines.ReadBytes('\n')
		if err != nil {
			return
		}
		var asked request
		said := answer(nil)
		if err = json.Unmarshal(line, &asked); err == nil {
			said, err = operations[asked.Op](asked)
		}
		if err != nil {
			said = answer{"error": err.Error()}
		}
		encoded, _ := json.Marshal(said)
		fmt.Println(string(encoded))
	}
}
