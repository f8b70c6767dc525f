// Command points stores measured values:
//
//	points serve ADDRESS FILE    answer requests until it is ended
//	points create URL            make the store anew
//	points write URL FILE        send the points of a file; lines with # are comments
//	points query URL NAME        print what each host measured under a name
package main

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"strings"

	"example.com/points/line"
	"example.com/points/store"
)

func main() {
	if err := run(os.Args[1:]); err != nil {
		fmt.Fprintln(os.Stderr, "points:", err)
		os.Exit(1)
	}
}

func run(args []string) error {
	switch {
	case len(args) == 3 && args[0] == "serve":
		return serve(args[1], args[2])
	case len(args) == 2 && args[0] == "create":
		return request(http.MethodPost, args[1]+"/create", nil)
	case len(args) == 3 && args[0] == "write":
		f, err := os.Open(args[2])
		if err != nil {
			return err
		}
		defer f.Close()
		return request(http.MethodPost, args[1]+"/write", f)
	case len(args) == 3 && args[0] == "query":
		return request(http.MethodGet, args[1]+"/query?name="+args[2], nil)
	default:
		return errors.New("usage: points serve ADDRESS FILE | create URL | write URL FILE | query URL NAME")
	}
}

// request prints the answer to a request.
func request(method, url string, body io.Reader) error {
	r, err := http.NewRequest(method, url, body)
	if err != nil {
		return err
	}
	answer, err := http.DefaultClient.Do(r)
	if err != nil {
		return err
	}
	defer answer.Body.Close()
	if _, err := io.Copy(os.Stdout, answer.Body); err != nil {
		return err
	}
	if answer.StatusCode != http.StatusOK {
		return fmt.Errorf("%s: %s", url, answer.Status)
	}
	return nil
}

func serve(address, file string) error {
	s, err := store.Open(file)
	if err != nil {
		return err
	}
	handle := func(pattern string, h func(http.ResponseWriter, *http.Request) error) {
		http.HandleFunc(pattern, func(w http.ResponseWriter, r *http.Request) {
			if err := h(w, r); err != nil {
				http.Error(w, err.Error(), http.StatusBadRequest)
			}
		})
	}
	handle("GET /ping", func(http.ResponseWriter, *http.Request) error { return nil })
	handle("POST /create", func(http.ResponseWriter, *http.Request) error { return s.Create() })
	handle("POST /write", func(_ http.ResponseWriter, r *http.Request) error { return write(s, r.Body) })
	handle("GET /query", func(w http.ResponseWriter, r *http.Request) error {
		for _, h := range s.Summaries(r.FormValue("name")) {
			fmt.Fprintf(w, "%s,%d,%.2f\n", h.Host, h.Count, h.Mean)
		}
		return nil
	})
	return http.ListenAndServe(address, nil)
}

func write(s *store.Store, text io.Reader) error {
	var points []line.Point
	lines := bufio.NewScanner(text)
	for lines.Scan() {
		if strings.HasPrefix(lines.Text(), "#") {
			continue
		}
		p, err := line.Parse(lines.Text())
		if err != nil {
			return err
		}
		points = append(points, p)
	}
	if err := lines.Err(); err != nil {
		return err
	}
	return s.Write(points...)
}
