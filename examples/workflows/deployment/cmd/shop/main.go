// Command shop answers what the orders amount to, to users who log in:
//
//	shop serve ADDRESS DIRECTORY              answer requests until it is ended
//	shop check TRAFFIC SERVER URL VERSION     log in with SMOKE_USER and SMOKE_PASSWORD, and print the answer
//
// The check asks as often as the server gets percents of the traffic, according to a file of lines
// SERVER PERCENT. It fails if there is none for it, or if an answer is from another version.
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
	"strconv"
	"strings"

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
	case len(args) == 5 && args[0] == "check":
		return check(args[1], args[2], args[3], args[4])
	default:
		return errors.New("usage: shop serve ADDRESS DIRECTORY | check TRAFFIC SERVER URL VERSION")
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

func check(traffic, server, url, want string) error {
	percent, err := share(traffic, server)
	if err != nil {
		return err
	}
	var answer []byte
	for range percent {
		if answer, err = totals(url); err != nil {
			return err
		}
		if got, _, _ := bytes.Cut(answer, []byte("\n")); string(got) != "version "+want {
			return fmt.Errorf("%s is %s, not %s", server, got, want)
		}
	}
	_, err = os.Stdout.Write(answer)
	return err
}

// share returns how many percents of the traffic a server gets.
func share(traffic, server string) (percent int, err error) {
	text, err := os.ReadFile(traffic)
	if err != nil {
		return 0, err
	}
	for line := range strings.Lines(string(text)) {
		if name, rest, _ := strings.Cut(strings.TrimSpace(line), " "); name == server {
			percent, err = strconv.Atoi(rest)
		}
	}
	if err == nil && percent <= 0 {
		err = fmt.Errorf("%s gives no traffic to %s", traffic, server)
	}
	return percent, err
}

func totals(url string) ([]byte, error) {
	r, err := http.NewRequest(http.MethodGet, url+"/totals", nil)
	if err != nil {
		return nil, err
	}
	r.SetBasicAuth(os.Getenv("SMOKE_USER"), os.Getenv("SMOKE_PASSWORD"))
	answer, err := http.DefaultClient.Do(r)
	if err != nil {
		return nil, err
	}
	defer answer.Body.Close()
	text, err := io.ReadAll(answer.Body)
	if err == nil && answer.StatusCode != http.StatusOK {
		err = fmt.Errorf("%s answers %s: %s", url, answer.Status, text)
	}
	return text, err
}
