package pipeline

import (
	"github.com/zclconf/go-cty/cty"

	"prdrunner/pipeline/glob"
)

// The path of an artifact may depend on an element or a variable that is not known yet. Then
// only its beginning is known.

// artifactBeginnings returns how the globs of artifacts begin that are not known yet: for
// "out/${each.key}.txt" it is "out/".
func (b *builder) artifactBeginnings() []string {
	var all []string
	for _, def := range b.blocks {
		for _, ws := range def.instances {
			if def.block.artifacts == nil || len(ws.Artifacts) > 0 {
				continue
			}
			fr := constantFrame(ws.each)
			fr.partial = true
			value, ok := b.evaluateConstant(def.block.artifacts, fr, cty.DynamicPseudoType) // constant may know it as unknown
			if !ok || !value.CanIterateElements() {
				value = cty.TupleVal([]cty.Value{cty.UnknownVal(cty.String)})
			}
			for _, text := range value.Elements() {
				switch {
				case !text.IsKnown() && text.Type() == cty.String:
					all = append(all, text.Range().StringPrefix())
				case !text.IsKnown():
					all = append(all, "")
				}
			}
		}
	}
	return all
}

// possiblePatterns returns patterns of all files that artifacts may be whose globs begin so. A
// glob of which nothing is known has none: it could be any file.
func possiblePatterns(beginnings []string) []string {
	var all []string
	for _, known := range beginnings {
		text := known + "*"
		if problem, outside := glob.Check(text); known == "" || glob.IsExclusion(known) || problem != "" || outside {
			continue
		}
		all = appendNew(all, []string{text, text + "/**"})
	}
	return all
}
