package plan_test

import "testing"

// lent has a chain of sensitive outputs, root to login to deploy, and workstreams beside it.
const lent = `
phase "one" {
  workstream "root" {
    sensitive_outputs = ["key"]
    effect            = "pure"
    script            = "root"
  }
  workstream "login" {
    depends_on        = [workstream.root]
    sensitive_outputs = ["token"]
    effect            = "pure"
    command           = ["login", workstream.root.outputs.key]
  }
  workstream "names" {
    depends_on = [workstream.login]
    command    = ["names", workstream.login.outputs.user]
  }
}
phase "two" {
  workstream "deploy" {
    inputs  = ["src"]
    command = ["deploy"]
    env     = { TOKEN = workstream.login.outputs.token }
    gate "smoke" { command = ["smoke", workstream.login.outputs.token] }
  }
  workstream "notes" { script = "notes" }
}
`

func lend(s *session) {
	s.gives["root"] = map[string]string{"key": "***"}
	s.gives["login"] = map[string]string{"token": "***", "user": "a person"}
	s.write("src", "1")
	s.build()
}

// TestSensitiveOutputs: a workstream runs again if a process that will start needs its
// sensitive output, and for no other reason.
func TestSensitiveOutputs(t *testing.T) {
	t.Parallel()
	const (
		rerunBoth = `
			root: rerun: its sensitive output key is needed by login, and is not stored
			login: rerun: its sensitive output token is needed by deploy, and is not stored
			names: depends: on the result of login`
		reuseBoth = `
			root: reuse: nothing changed since it completed
			login: reuse: nothing changed since it completed
			names: reuse: nothing changed since it completed`
	)
	tell(t, []story{
		{"nothing has changed", lent, lend, reuseBoth + `
			deploy: reuse: nothing changed since it completed
			smoke (deploy): reuse: passed, and nothing changed since
			notes: reuse: nothing changed since it completed`},
		{"another workstream runs", lent, func(s *session) { lend(s); s.edit(`script = "notes"`, `script = "more"`) }, reuseBoth + `
			deploy: reuse: nothing changed since it completed
			smoke (deploy): reuse: passed, and nothing changed since
			notes: rerun: definition changed`},
		{"it is needed", lent, func(s *session) { lend(s); s.write("src", "2") }, rerunBoth + `
			deploy: depends: on the result of login
			smoke (deploy): depends: on the result of deploy
			notes: reuse: nothing changed since it completed`},
		{"another output is needed", lent, func(s *session) { lend(s); s.edit(`["names", workstream`, `["more", workstream`) }, `
			root: reuse: nothing changed since it completed
			login: reuse: nothing changed since it completed
			names: rerun: definition changed
			deploy: reuse: nothing changed since it completed
			smoke (deploy): reuse: passed, and nothing changed since
			notes: reuse: nothing changed since it completed`},
		{"a gate needs it", lent, func(s *session) { lend(s); s.edit(`"smoke", workstream`, `"smoke", "-v", workstream`) }, `
			root: rerun: its sensitive output key is needed by login, and is not stored
			login: rerun: its sensitive output token is needed by smoke (deploy), and is not stored
			names: depends: on the result of login
			deploy: depends: on the result of login
			smoke (deploy): depends: on the result of deploy
			notes: reuse: nothing changed since it completed`},
		{"the first run", lent, func(*session) {}, `
			root: run: not run yet
			login: run: not run yet
			names: run: not run yet
			deploy: run: not run yet
			smoke (deploy): depends: on the result of deploy
			notes: run: not run yet`},
	})
}

// TestSensitiveOutputsOfHooks: a hook needs a sensitive output if the run has work.
func TestSensitiveOutputsOfHooks(t *testing.T) {
	t.Parallel()
	const hooked = `
hook {
  on      = ["complete"]
  command = ["tell", workstream.login.outputs.token]
}
phase "one" {
  workstream "login" {
    sensitive_outputs = ["token"]
    script            = "login"
  }
  workstream "other" { script = "other" }
}`
	play := func(s *session) { s.gives["login"] = map[string]string{"token": "***"}; s.build() }
	tell(t, []story{
		{"nothing to do", hooked, play, `
			login: reuse: nothing changed since it completed
			other: reuse: nothing changed since it completed`},
		{"something to do", hooked, func(s *session) { play(s); s.edit(`"other" }`, `"more" }`) }, `
			login: rerun: its sensitive output token is needed by the hook in line 3, and is not stored
			other: rerun: definition changed`},
	})
}
