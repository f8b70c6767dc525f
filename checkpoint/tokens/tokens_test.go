package tokens_test

import (
	"bytes"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/x509"
	"encoding/pem"
	"strings"
	"testing"

	"prdrunner/checkpoint/tokens"
)

// examples returns a text for each rule. They are put together here, so that no scanner
// takes this file for a leak.
func examples(t *testing.T) map[string]string {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	der, err := x509.MarshalECPrivateKey(key)
	if err != nil {
		t.Fatal(err)
	}
	some := func(n int) string { return strings.Repeat("aB3", n/3+1)[:n] }
	block := func(kind string) string {
		return string(pem.EncodeToMemory(&pem.Block{Type: kind, Bytes: der}))
	}
	return map[string]string{
		block("EC PRIVATE KEY"): "private key", block("PRIVATE KEY"): "private key", block("OPENSSH PRIVATE KEY"): "private key",
		strings.ReplaceAll(`{"private_key": "`+block("PRIVATE KEY")+`"}`, "\n", `\n`):                                                       "private key",
		string(pem.EncodeToMemory(&pem.Block{Type: "RSA PRIVATE KEY", Headers: map[string]string{"Proc-Type": "4,ENCRYPTED"}, Bytes: der})): "private key",
		"PuTTY-User-" + "Key-File-3: ssh-ed25519\n":                                                                                         "PuTTY private key",
		"AGE-SECRET-" + "KEY-1" + strings.Repeat("Q", 58):                                                                                   "age secret key",
		"id = AK" + "IA" + strings.Repeat("QZ23", 4):                                                                                        "AWS access key",
		"gh" + "p_" + some(36):                                          "GitHub token",
		"github" + "_pat_" + some(30):                                   "GitHub fine-grained token",
		"gl" + "pat-" + some(20):                                        "GitLab token",
		"xo" + "xb-12345678901-" + some(20):                             "Slack token",
		"xa" + "pp-1-A0123-" + some(20):                                 "Slack app token",
		"https://hooks.slack.com" + "/services/T0001/B0001/" + some(24): "Slack webhook",
		"sk" + "_live_" + some(24):                                      "Stripe key",
		"AI" + "za" + some(35):                                          "Google API key",
		"np" + "m_" + some(36):                                          "npm token",
		"pypi" + "-AgEIcHlwaS5vcmc" + some(60):                          "PyPI token",
		"sk" + "-ant-api03-" + some(40):                                 "model provider key",
		"S" + "G." + some(22) + "." + some(43):                          "SendGrid key",
		"dckr" + "_pat_" + some(27):                                     "Docker Hub token",
		"dop" + "_v1_" + strings.Repeat("a1", 32):                       "DigitalOcean token",
		"h" + "f_" + some(34):                                           "Hugging Face token",
		"hv" + "s." + some(24):                                          "Vault token",
	}
}

// TestFound finds each kind of token, however it is split into writes.
func TestFound(t *testing.T) {
	t.Parallel()
	newDetector := tokens.New()
	for text, want := range examples(t) {
		d := newDetector()
		whole := "key: " + text + "\n"
		_, _ = d.Write([]byte(whole))
		if got := d.What(); got != want || !d.Found() {
			t.Errorf("%q is %q, want %q", text, got, want)
		}
		for at := range whole {
			d := newDetector()
			_, _ = d.Write([]byte(whole[:at]))
			d.Found() // as a reader asks after each piece
			_, _ = d.Write([]byte(whole[at:]))
			if !d.Found() {
				t.Errorf("%q, split at %d, is not found", text, at)
			}
		}
	}
}

// TestFoundInALongFile finds a token at the end of every piece of a long file.
func TestFoundInALongFile(t *testing.T) {
	t.Parallel()
	token := "gh" + "p_" + strings.Repeat("x", 36)
	newDetector := tokens.New()
	for _, before := range []int{0, 4 << 10, 64<<10 - 20, 64 << 10, 68<<10 - 20, 200_000} {
		d := newDetector()
		text := bytes.Repeat([]byte(" "), 300_000)
		copy(text[before:], token)
		for part := range len(text) / 1000 {
			_, _ = d.Write(text[part*1000 : (part+1)*1000])
		}
		if !d.Found() {
			t.Errorf("not found at %d", before)
		}
	}
}

// TestNotFound: what programs and documents say about keys is not a key.
func TestNotFound(t *testing.T) {
	t.Parallel()
	newDetector := tokens.New()
	for _, text := range []string{
		"", "password = secret", `strings.Contains(pem, "-----BEGIN RSA PRIVATE KEY-----")`, "-----BEGIN PRIVATE KEY-----\n...\n-----END PRIVATE KEY-----",
		"AKIA is how AWS access keys begin", "ghp_ and gho_ begin tokens of GitHub", "ASIAN-PACIFIC", "xoxb-…", "sk_live_ begins keys of Stripe",
		"-----BEGIN CERTIFICATE-----\nMIIB\n-----END CERTIFICATE-----", "-----BEGIN PUBLIC KEY-----\n" + strings.Repeat("A", 64), "SG.x.y", "npm_config_cache=/tmp/npm",
	} {
		d := newDetector()
		_, _ = d.Write([]byte(text))
		if d.Found() {
			t.Errorf("%q is taken for %s", text, d.What())
		}
	}
}

func BenchmarkDetector(b *testing.B) {
	newDetector := tokens.New()
	text := bytes.Repeat([]byte("func (w *Workspace) Capture(ctx context.Context, token string) (key Captured, err error) {\n"), 20_000/90)
	b.SetBytes(int64(len(text)))
	for b.Loop() {
		d := newDetector()
		_, _ = d.Write(text)
		if d.Found() {
			b.Fatal(d.What())
		}
	}
}
