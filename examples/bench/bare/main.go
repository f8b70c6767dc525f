// Command bare imports the libraries that runner imports, and does nothing: what
// uses them cannot start faster.
package main

import (
	_ "github.com/agext/levenshtein"
	_ "github.com/bmatcuk/doublestar/v4"
	_ "github.com/cenkalti/backoff/v4"
	_ "github.com/gofrs/flock"
	_ "github.com/google/uuid"
	_ "github.com/hashicorp/go-hclog"
	_ "github.com/hashicorp/hcl/v2"
	_ "github.com/hashicorp/hcl/v2/ext/tryfunc"
	_ "github.com/hashicorp/hcl/v2/ext/typeexpr"
	_ "github.com/hashicorp/hcl/v2/hclsyntax"
	_ "github.com/hashicorp/hcl/v2/hclwrite"
	_ "github.com/hashicorp/hcl/v2/json"
	_ "github.com/klauspost/compress/gzip"
	_ "github.com/klauspost/compress/zstd"
	_ "github.com/mitchellh/go-wordwrap"
	_ "github.com/pelletier/go-toml/v2"
	_ "github.com/pelletier/go-toml/v2/unstable"
	_ "github.com/rogpeppe/go-internal/diff"
	_ "github.com/spf13/cobra"
	_ "github.com/spf13/pflag"
	_ "github.com/spf13/viper"
	_ "github.com/zclconf/go-cty-yaml"
	_ "github.com/zclconf/go-cty/cty"
	_ "github.com/zclconf/go-cty/cty/convert"
	_ "github.com/zclconf/go-cty/cty/function"
	_ "github.com/zclconf/go-cty/cty/function/stdlib"
	_ "github.com/zclconf/go-cty/cty/json"
	_ "go.yaml.in/yaml/v3"
	_ "golang.org/x/sync/errgroup"
	_ "golang.org/x/term"
)

func main() {}
