package lsp

import (
	"bytes"
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// neovimScript opens a pipeline in Neovim, and writes down what its client gets from the server: mistakes, what is offered, what a
// word means, and the text after a correction, a rename and formatting.
const neovimScript = `
local client = vim.lsp.start_client({ name = "runner", cmd = { os.getenv("RUNNER"), "lsp" }, root_dir = vim.fn.getcwd() })
vim.cmd("edit PRD-001.hcl")
local buffer = vim.api.nvim_get_current_buf()
vim.lsp.buf_attach_client(buffer, client)
local seen = {}
local function ask(method, line, column, more)
  local params = { textDocument = { uri = vim.uri_from_bufnr(buffer) }, position = { line = line, character = column } }
  for key, value in pairs(more or {}) do params[key] = value end
  local answers = vim.lsp.buf_request_sync(buffer, method, params, 30000)
  return answers and answers[client] and answers[client].result
end
local function text() return table.concat(vim.api.nvim_buf_get_lines(buffer, 0, -1, true), "\n") end
vim.wait(30000, function() return #vim.diagnostic.get(buffer) > 0 end)
seen.mistakes = {}
for _, d in ipairs(vim.diagnostic.get(buffer)) do table.insert(seen.mistakes, d.lnum + 1 .. " " .. d.message) end
local actions = ask("textDocument/codeAction", 3, 0, { range = { start = { line = 0, character = 0 }, ["end"] = { line = 20, character = 0 } }, context = { diagnostics = {} } })
vim.lsp.util.apply_workspace_edit(actions[1].edit, "utf-16")
vim.wait(30000, function() return #vim.diagnostic.get(buffer) == 0 end)
seen.left = #vim.diagnostic.get(buffer)
local offered = ask("textDocument/completion", 7, 31)
seen.offered = {}
for _, item in ipairs(offered.items) do table.insert(seen.offered, item.label) end
seen.hover = ask("textDocument/hover", 4, 7).contents.value
seen.definition = ask("textDocument/definition", 7, 31)[1].range.start.line
vim.lsp.util.apply_workspace_edit(ask("textDocument/rename", 7, 31, { newName = "first" }), "utf-16")
vim.lsp.util.apply_text_edits(ask("textDocument/formatting", 0, 0, { options = { tabSize = 2, insertSpaces = true } }), buffer, "utf-16")
seen.text = text()
local out = io.open("seen.json", "w")
out:write(vim.json.encode(seen))
out:close()
`

// TestNeovim: a real editor gets on with the server.
func TestNeovim(t *testing.T) {
	t.Parallel()
	if _, err := exec.LookPath("nvim"); err != nil {
		if os.Getenv("CI") == "true" {
			t.Fatal("there is no nvim")
		}
		t.Skip("there is no nvim")
	}
	dir := t.TempDir()
	program := filepath.Join(dir, "runner")
	if out, err := exec.CommandContext(t.Context(), "go", "build", "-o", program, "prdrunner/cmd/runner").CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	for name, content := range map[string]string{
		"script.lua": neovimScript,
		"PRD-001.hcl": `pipeline "PRD-001" {
  phase "p" {
    workstream "a" {
      comand = ["true"]
      timeout  = "5m"
    }
    workstream "b" {
      depends_on = [workstream.a]
      script = "true"
    }
  }
}
`,
	} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(content), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	cmd := exec.CommandContext(t.Context(), "nvim", "--headless", "-u", "NONE", "-i", "NONE", "-n", "-c", "luafile script.lua", "-c", "qall!")
	cmd.Dir, cmd.Env = dir, append(os.Environ(), "RUNNER="+program, "HOME="+dir, "XDG_STATE_HOME="+dir, "XDG_CONFIG_HOME="+dir, "XDG_DATA_HOME="+dir)
	var printed bytes.Buffer
	cmd.Stdout, cmd.Stderr = &printed, &printed
	if err := cmd.Run(); err != nil {
		t.Fatalf("%v\n%s", err, printed.Bytes())
	}
	data, err := os.ReadFile(filepath.Join(dir, "seen.json"))
	if err != nil {
		t.Fatalf("%v\n%s", err, printed.Bytes())
	}
	type result struct {
		Mistakes   []string
		Left       int
		Offered    []string
		Hover      string
		Definition int
		Text       string
	}
	var got result
	if err := json.Unmarshal(data, &got); err != nil {
		t.Fatal(err)
	}
	want := result{
		Mistakes:   []string{"4 Unsupported argument\nAn argument named \"comand\" is not expected here. Did you mean \"command\"?"},
		Offered:    []string{"a", "b"},
		Hover:      "**timeout**\n\nhow long one attempt may run",
		Definition: 2,
		Text: `pipeline "PRD-001" {
  phase "p" {
    workstream "first" {
      command = ["true"]
      timeout = "5m"
    }
    workstream "b" {
      depends_on = [workstream.first]
      script     = "true"
    }
  }
}`,
	}
	if len(got.Mistakes) > 1 { // that a command is missing follows from the first
		got.Mistakes = got.Mistakes[:1]
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
}
