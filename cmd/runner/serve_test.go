package main

import (
	"fmt"
	"net/http"
	"os"
	"time"
)

// servingProgram is a program for scripts, a service: `serve PORT [LINE]`. It appends "began" to the
// file served, prints LINE, and answers GET / with "served". GET /end ends it with exit code 3.
func servingProgram() {
	if err := servePort(os.Args[1], os.Args[2:]); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

func servePort(port string, lines []string) error {
	f, err := os.OpenFile("served", os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600)
	if err != nil {
		return err
	}
	if _, err := fmt.Fprintln(f, "began"); err != nil {
		return err
	}
	if err := f.Close(); err != nil {
		return err
	}
	for _, line := range lines {
		fmt.Println(line)
	}
	mux := http.NewServeMux()
	mux.HandleFunc("GET /{$}", func(w http.ResponseWriter, _ *http.Request) { fmt.Fprint(w, "served") })
	mux.HandleFunc("GET /end", func(http.ResponseWriter, *http.Request) { os.Exit(3) })
	server := &http.Server{Addr: "127.0.0.1:" + port, Handler: mux, ReadHeaderTimeout: time.Minute}
	return server.ListenAndServe()
}

// get is a program for scripts, `get URL`. It prints what the URL answers, and exits with 1 if
// nothing answers.
func get() {
	client := http.Client{Timeout: time.Minute}
	answer, err := client.Get(os.Args[1])
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	defer func() { _ = answer.Body.Close() }()
	text := make([]byte, 1024)
	n, _ := answer.Body.Read(text)
	fmt.Println(string(text[:n]))
}
