package cli

import (
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"prdrunner/checkpoint/text"
)

// FreeText is the placeholder of flags in which the user writes text. The text may be
// empty.
const FreeText = "TEXT"

// HoldsText reports whether a flag takes free text, or NAME= followed by free text.
func HoldsText(flag *pflag.Flag) bool {
	placeholder, _ := pflag.UnquoteUsage(flag)
	return placeholder == FreeText || strings.HasSuffix(placeholder, "="+FreeText)
}

// WithoutText returns the command line as the user typed it, without free text and without
// the values of variables.
func WithoutText(cmd *cobra.Command, args []string) string {
	_, path, _ := strings.Cut(cmd.CommandPath(), " ")
	words := []string{path}
	for _, arg := range args {
		words = append(words, text.ShellWord(arg))
	}
	cmd.LocalFlags().VisitAll(func(flag *pflag.Flag) {
		switch several, repeats := flag.Value.(pflag.SliceValue); {
		case !flag.Changed, HoldsText(flag):
		case flag.NoOptDefVal != "" && flag.Value.String() == flag.NoOptDefVal: // a bool, or --resume
			words = append(words, "--"+flag.Name)
		case repeats:
			for _, value := range several.GetSlice() {
				words = append(words, "--"+flag.Name, unvalued(flag.Name, value))
			}
		default:
			words = append(words, "--"+flag.Name+"="+text.ShellWord(flag.Value.String()))
		}
	})
	return strings.Join(words, " ")
}

// unvalued returns the value of a flag as it may be shown: for a variable, which may be
// sensitive, only its name.
func unvalued(flag, value string) string {
	if name, _, found := strings.Cut(value, "="); found && flag == "var" {
		return text.ShellWord(name) + "=…"
	}
	return text.ShellWord(value)
}
