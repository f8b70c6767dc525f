package tokens

import "regexp"

// table returns the compiled rules. The forms are those that the makers of the tokens
// document, and that of RFC 7468 for keys.
func table() []rule {
	const word = `[A-Za-z0-9_-]`
	rows := []struct {
		name, pattern string
		literals      []string
	}{
		// The first line of a key alone is often in programs; a key follows it.
		{"private key", `-----BEGIN (?:[A-Z0-9]+ )*PRIVATE KEY(?: BLOCK)?-----(?:\\[rn]|\s|[\w-]+: [^\n]*\n){1,16}[A-Za-z0-9+/=]{40}`, []string{"PRIVATE KEY"}},
		{"PuTTY private key", `PuTTY-User-Key-File-[0-9]: `, []string{"PuTTY-User-Key-File-"}},
		{"age secret key", `AGE-SECRET-KEY-1[0-9A-Z]{58}`, []string{"AGE-SECRET-KEY-1"}},
		{"AWS access key", `\b(?:AKIA|ASIA)[A-Z2-7]{16}\b`, []string{"AKIA", "ASIA"}},
		{"GitHub token", `\bgh[pousr]_[A-Za-z0-9]{36}`, []string{"ghp_", "gho_", "ghu_", "ghs_", "ghr_"}},
		{"GitHub fine-grained token", `\bgithub_pat_[A-Za-z0-9_]{22}`, []string{"github_pat_"}},
		{"GitLab token", `\bgl(?:pat|dt|ptt|rt|soat|agent|cbt|imt)-` + word + `{20}`, []string{"glpat-", "gldt-", "glptt-", "glrt-", "glsoat-", "glagent-", "glcbt-", "glimt-"}},
		{"Slack token", `\bxox[abeprs]-[A-Za-z0-9-]{10}`, []string{"xoxa-", "xoxb-", "xoxe-", "xoxp-", "xoxr-", "xoxs-"}},
		{"Slack app token", `\bxapp-[0-9]-[A-Za-z0-9-]{10}`, []string{"xapp-"}},
		{"Slack webhook", `hooks\.slack\.com/services/T\w+/B\w+/\w{16}`, []string{"hooks.slack.com/services/"}},
		{"Stripe key", `\b[rs]k_live_[A-Za-z0-9]{16}`, []string{"sk_live_", "rk_live_"}},
		{"Google API key", `\bAIza` + word + `{35}`, []string{"AIza"}},
		{"npm token", `\bnpm_[A-Za-z0-9]{36}`, []string{"npm_"}},
		{"PyPI token", `\bpypi-AgEIcHlwaS5vcmc` + word + `{50}`, []string{"pypi-AgEIcHlwaS5vcmc"}},
		{"model provider key", `\bsk-(?:ant|proj|svcacct)-` + word + `{20}`, []string{"sk-ant-", "sk-proj-", "sk-svcacct-"}},
		{"SendGrid key", `\bSG\.` + word + `{22}\.` + word + `{43}`, []string{"SG."}},
		{"Docker Hub token", `\bdckr_pat_` + word + `{27}`, []string{"dckr_pat_"}},
		{"DigitalOcean token", `\bdo[oprt]_v1_[a-f0-9]{64}`, []string{"doo_v1_", "dop_v1_", "dor_v1_", "dot_v1_"}},
		{"Hugging Face token", `\bhf_[A-Za-z0-9]{34}`, []string{"hf_"}},
		{"Vault token", `\bhv[bs]\.` + word + `{24}`, []string{"hvs.", "hvb."}},
	}
	rules := make([]rule, len(rows))
	for i, row := range rows {
		rules[i] = rule{name: row.name, pattern: regexp.MustCompile(row.pattern)}
		for _, literal := range row.literals {
			rules[i].literals = append(rules[i].literals, []byte(literal))
		}
	}
	return rules
}
