// Command shop answers what the orders amount to, to users who log in:
//
//	shop serve ADDRESS DIRECTORY    answer requests until it is ended
//	shop check URL                  log in with SMOKE_USER and SMOKE_PASSWORD, and print the answer
package main

import (
	"bytes"
	"crypto/sha256"
	"errors"
	"fmt"
	"io"
	"maps"
	"net/http"
	"os"
	"path/filepath"
	"slices"

	"example.com/shop/orders"
)

var version = "unknown" // set by the linker

func main() {
	if err := run(os.Args[1:]); err != nil {
		fmt.Fprintln(os.Stderr, "shop:", err)
		os.Exit(1)
	}
}

func run(args []string) error {
	switch {
	case len(args) == 3 && args[0] == "serve":
		return serve(args[1], args[2])
	case len(args) == 2 && args[0] == "check":
		return check(args[1])
	default:
		return errors.New("usage: shop serve ADDRESS DIRECTORY | check URL")
	}
}

func serve(address, dir string) error {
	http.HandleFunc("GET /alive", func(http.ResponseWriter, *http.Request) {})
	http.HandleFunc("GET /totals", func(w http.ResponseWriter, r *http.Request) {
		user, password, _ := r.BasicAuth()
		if !known(dir, user, password) {
			http.Error(w, "who are you?", http.StatusUnauthorized)
			return
		}
		totals, err := orders.Totals(dir)
		if err != nil {
			http.Error(w, err.Error(), http.StatusInternalServerError)
			return
		}
		fmt.Fprintln(w, "version", version)
		for _, currency := range slices.Sorted(maps.Keys(totals)) {
			fmt.Fprintln(w, currency, totals[currency].Orders, totals[currency].Cents)
		}
	})
	return http.ListenAndServe(address, nil)
}

// known reports whether users.txt has the user with this password, as its SHA-256.
func known(dir, user, password string) bool {
	users, err := os.ReadFile(filepath.Join(dir, "users.txt"))
	line := fmt.Sprintf("%s %x\n", user, sha256.Sum256([]byte(password)))
	return err == nil && bytes.Contains(users, []byte(line))
}

func check(url string) error {
	r, err := http.NewRequest(http.MethodGet, url+"/totals", nil)
	if err != nil {
		return err
	}
	r.SetBasicAuth(os.Getenv("SMOKE_USER"), os.Getenv("SMOKE_PASSWORD"))
	answer, err := http.DefaultClient.Do(r)
	if err != nil {
		return err
	}
	defer answer.Body.Close()
	if _, err := io.Copy(os.Stdout, answer.Body); err != nil {
		return err
	}
	if answer.StatusCode != http.StatusOK {
		return fmt.Errorf("%s answers %s", url, answer.Status)
	}
	return nil
}
