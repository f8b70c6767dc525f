package state

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"slices"
)

// errSeal says that the bytes of a derived file do not match its checksum.
var errSeal = errors.New("its checksum is wrong")

const ChecksumField = `,"checksum":"sha256:`

// Seal adds a checksum to a JSON object, as its last field: SHA-256 of all
// bytes before the field. A newline ends the file.
func Seal(object []byte) []byte {
	body := bytes.TrimSuffix(object, []byte("}"))
	return slices.Concat(body, SealOf(body))
}

// SealOf returns what Seal appends to an object that is given in parts and without its
// closing brace.
func SealOf(parts ...[]byte) []byte {
	h := sha256.New()
	for _, part := range parts {
		h.Write(part)
	}
	sealed := hex.AppendEncode([]byte(ChecksumField), h.Sum(nil))
	return append(sealed, "\"}\n"...)
}

// Unseal verifies the checksum of a sealed object and returns the object.
func Unseal(data []byte) ([]byte, error) {
	at := bytes.LastIndex(data, []byte(ChecksumField))
	if at < 0 {
		return nil, errSeal
	}
	sum := sha256.Sum256(data[:at])
	if string(data[at+len(ChecksumField):]) != hex.EncodeToString(sum[:])+"\"}\n" {
		return nil, errSeal
	}
	return data, nil
}

// ChecksumOf computes the checksum of a sealed object, whatever checksum it carries; "" if
// it carries none.
func ChecksumOf(data []byte) string {
	at := bytes.LastIndex(data, []byte(ChecksumField))
	if at < 0 {
		return ""
	}
	sum := sha256.Sum256(data[:at])
	return "sha256:" + hex.EncodeToString(sum[:])
}
