package checkpoint

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"slices"
)

// errSeal says that the bytes of a derived file are not what was written.
var errSeal = errors.New("its checksum is wrong")

const checksumField = `,"checksum":"sha256:`

// seal adds a checksum to a JSON object, as its last field: SHA-256 of all
// bytes before the field. A newline ends the file.
func seal(object []byte) []byte {
	body := bytes.TrimSuffix(object, []byte("}"))
	return slices.Concat(body, sealOf(body))
}

// sealOf is what seal adds to an object that is given in parts, and has no
// closing brace.
func sealOf(parts ...[]byte) []byte {
	h := sha256.New()
	for _, part := range parts {
		h.Write(part)
	}
	sealed := hex.AppendEncode([]byte(checksumField), h.Sum(nil))
	return append(sealed, "\"}\n"...)
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
