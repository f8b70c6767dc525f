package checkpoint

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"errors"
)

// errSeal says that the bytes of a derived file are not what was written.
var errSeal = errors.New("its checksum is wrong")

const checksumField = `,"checksum":"sha256:`

// sealRoom is how many bytes appendSeal adds.
const sealRoom = len(checksumField) + 2*sha256.Size + len("\"}\n")

// seal adds a checksum to a JSON object, as its last field: SHA-256 of all
// bytes before the field. A newline ends the file.
func seal(object []byte) []byte {
	body := make([]byte, 0, len(object)+sealRoom)
	return appendSeal(append(body, bytes.TrimSuffix(object, []byte("}"))...))
}

// appendSeal is seal of an object that has no closing brace yet.
func appendSeal(body []byte) []byte {
	sum := sha256.Sum256(body)
	body = append(body, checksumField...)
	body = hex.AppendEncode(body, sum[:])
	return append(body, "\"}\n"...)
}

// unseal verifies the checksum of what seal returned, and returns it.
func unseal(data []byte) ([]byte, error) {
	at := bytes.LastIndex(data, []byte(checksumField))
	if at < 0 {
		return nil, errSeal
	}
	sum := sha256.Sum256(data[:at])
	if string(data[at+len(checksumField):]) != hex.EncodeToString(sum[:])+"\"}\n" {
		return nil, errSeal
	}
	return data, nil
}

// checksumOf computes the checksum of what seal returned, whatever the bytes
// say that it is; "" where they have none.
func checksumOf(data []byte) string {
	at := bytes.LastIndex(data, []byte(checksumField))
	if at < 0 {
		return ""
	}
	sum := sha256.Sum256(data[:at])
	return "sha256:" + hex.EncodeToString(sum[:])
}
