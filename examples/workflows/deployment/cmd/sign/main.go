// Command sign prints the signature of a file with the key in SIGNING_KEY, or checks one:
//
//	sign FILE
//	sign FILE SIGNATURE
package main

import (
	"crypto/hmac"
	"crypto/sha256"
	"errors"
	"fmt"
	"os"
)

func main() {
	if err := run(os.Args[1:]); err != nil {
		fmt.Fprintln(os.Stderr, "sign:", err)
		os.Exit(1)
	}
}

func run(args []string) error {
	key := os.Getenv("SIGNING_KEY")
	if len(args) == 0 || len(args) > 2 || key == "" {
		return errors.New("usage: SIGNING_KEY=… sign FILE [SIGNATURE]")
	}
	data, err := os.ReadFile(args[0])
	if err != nil {
		return err
	}
	mac := hmac.New(sha256.New, []byte(key))
	mac.Write(data)
	signature := fmt.Sprintf("%x\n", mac.Sum(nil))
	if len(args) == 1 {
		_, err = fmt.Print(signature)
		return err
	}
	given, err := os.ReadFile(args[1])
	if err == nil && !hmac.Equal(given, []byte(signature)) {
		err = fmt.Errorf("%s is not the signature of %s", args[1], args[0])
	}
	return err
}
