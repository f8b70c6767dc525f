package main

import (
	"encoding/base64"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"html"
	"net/url"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"
)

// A secretForm is an encoding in which a program may print a value.
type secretForm struct {
	name   string
	encode func(string) string
}

// secretForms returns the encodings that the leaking workstreams print and that tests
// then look for. It does not use the package that masks secrets.
func secretForms() []secretForm {
	b64 := func(e *base64.Encoding, before int) func(string) string {
		return func(s string) string { return e.EncodeToString([]byte("xyz"[:before] + s + "tail")) }
	}
	forms := []secretForm{
		{"raw", func(s string) string { return s }},
		{"first line", func(s string) string { line, _, _ := strings.Cut(s, "\n"); return line }},
		{"hex", func(s string) string { return hex.EncodeToString([]byte(s)) }},
		{"HEX", func(s string) string { return fmt.Sprintf("%X", s) }},
		{"query", url.QueryEscape},
		{"path", url.PathEscape},
		{"json", func(s string) string { data, _ := json.Marshal(s); return string(data[1 : len(data)-1]) }},
		{"html", html.EscapeString},
		{"go", func(s string) string { q := strconv.Quote(s); return q[1 : len(q)-1] }},
		{"shell", func(s string) string { return strings.ReplaceAll(s, "'", `'\''`) }},
		{"base64 unpadded", func(s string) string { return base64.RawStdEncoding.EncodeToString([]byte(s)) }},
	}
	for before := range 3 {
		forms = append(forms,
			secretForm{"base64", b64(base64.StdEncoding, before)},
			secretForm{"base64url", b64(base64.RawURLEncoding, before)})
	}
	return forms
}

// secretNeedles returns the texts that tests must find nowhere: each value in each form.
func secretNeedles(values ...string) []string {
	var all []string
	for _, value := range values {
		for _, form := range secretForms() {
			text := form.encode(value)
			if strings.HasPrefix(form.name, "base64") && len(text) > 16 {
				text = text[4 : len(text)-8] // without the ends, which also encode the text around the value
			}
			all = append(all, text)
		}
	}
	slices.Sort(all)
	return slices.Compact(all)
}

// leak is a program that prints, reports or writes the value of $SECRET in many ways; its
// arguments choose them. It runs as a workstream, gate or hook of the pipeline in
// TestSecrets.
func leak() {
	value := os.Getenv("SECRET")
	for _, mode := range os.Args[1:] {
		switch mode {
		case "print":
			printForms(value)
		case "outputs":
			writeOutputs(value)
		case "files":
			for name, text := range map[string]string{
				"out/kept.txt": "the token is " + value + "\n", "out/encoded.txt": base64.StdEncoding.EncodeToString([]byte(value)),
				"notes.txt": "remember " + url.QueryEscape(value) + "\n",
			} {
				must(os.MkdirAll(filepath.Dir(name), 0o755))
				must(os.WriteFile(name, []byte(text), 0o600))
			}
		case "named":
			must(os.MkdirAll("out", 0o755))
			must(os.WriteFile("out/name-"+fileName(value), []byte("x"), 0o600))
		case "value":
			value = printedSecret(os.Getenv("DEPLOY_TOKEN"))
			fmt.Println(value)
		case "give":
			given := "token<<END-OF-TOKEN\n" + givenSecret(os.Getenv("DEPLOY_TOKEN")) + "\nEND-OF-TOKEN\n"
			must(os.WriteFile(os.Getenv("RUNNER_OUTPUT"), []byte(given), 0o600))
		case "dotenv":
			must(os.WriteFile(".env.made", []byte("SECRET="+dotenvValue(otherSecret(os.Getenv("DEPLOY_TOKEN")))+"\n"), 0o600))
		case "cat":
			data, err := os.ReadFile("out/kept.txt")
			must(err)
			_, _ = os.Stdout.Write(data)
		case "fail":
			fmt.Fprintf(os.Stderr, "main.go:3:1: bad token %s\n", value)
			os.Exit(1)
		}
	}
}

// otherSecret returns a value that differs from the given one, and is as hard to mask.
func otherSecret(value string) string {
	return "o" + strings.Map(func(r rune) rune {
		switch {
		case 'a' <= r && r <= 'z':
			return 'z' - (r - 'a')
		case r == utf8.RuneError:
			return '_'
		}
		return r
	}, value)
}

// printedSecret returns another such value.
func printedSecret(value string) string {
	return "p" + strings.Map(func(r rune) rune {
		if 'a' <= r && r < 'z' {
			return r + 1
		}
		return r
	}, otherSecret(value))
}

// givenSecret returns a third such value.
func givenSecret(value string) string { return "q" + printedSecret(printedSecret(value)) }

// dotenvValue returns a value as a dotenv file has it between double quotes.
func dotenvValue(value string) string {
	data, err := json.Marshal(value)
	must(err)
	return string(data)
}

// fileName returns as much of a value as a file name can hold.
func fileName(value string) string {
	line, _, _ := strings.Cut(value, "\n")
	return strings.ReplaceAll(line[:min(len(line), 100)], "/", "_")
}

func must(err error) {
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(70)
	}
}

// printForms prints every form, then the value in two writes, cut at each position. It
// alternates between standard output and standard error. Last, it prints base64 in lines
// of 76 characters.
func printForms(value string) {
	streams := []*os.File{os.Stdout, os.Stderr}
	for i, form := range secretForms() {
		fmt.Fprintf(streams[i%2], "%s: %s\n", form.name, form.encode(value))
	}
	for cut := range value {
		_, err := streams[cut%2].WriteString(value[:cut])
		must(err)
		_, err = streams[(cut+1)%2].WriteString(value[cut:] + "\n")
		must(err)
	}
	for line := range slices.Chunk([]byte(base64.StdEncoding.EncodeToString([]byte(strings.Repeat("-", 50)+value))), 76) {
		fmt.Printf("%s\n", line)
	}
}

// writeOutputs reports every form as an output and as a metric of the workstream.
func writeOutputs(value string) {
	var out strings.Builder
	for i, form := range secretForms() {
		fmt.Fprintf(&out, "form%d<<END-OF-FORM\n%s\nEND-OF-FORM\nmetric.text%d=%s\n", i, form.encode(value), i, strings.ReplaceAll(form.encode(value), "\n", " "))
	}
	line, _, _ := strings.Cut(value, "\n")
	fmt.Fprintf(&out, "metric.number=%s\nsummary=made with %s\nlocation=https://user:%s@example.com\n", line, line, url.QueryEscape(line))
	must(os.WriteFile(os.Getenv("RUNNER_OUTPUT"), []byte(out.String()), 0o600))
}
