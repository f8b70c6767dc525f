// Package functions holds the functions of the language that depend on nothing but their
// arguments. Standard returns them by their names. All are deterministic: the same
// arguments give the same result, because digests must be stable. There is no function for
// the time or for random values. Those that read files are in package files.
//
// To add a function, describe it in SPEC.md of package pipeline, and add it to the table
// in Standard; one that takes more than a line has a file of its own.
package functions

import (
	"crypto/md5"  //nolint:gosec // offered for compatibility with other tools, not for security
	"crypto/sha1" //nolint:gosec // as above
	"crypto/sha256"
	"crypto/sha512"
	"encoding/base64"
	"encoding/hex"
	"errors"
	"fmt"
	"net/url"
	"path"
	"strings"
	"unicode/utf8"

	"github.com/hashicorp/hcl/v2/ext/tryfunc"
	ctyyaml "github.com/zclconf/go-cty-yaml"
	"github.com/zclconf/go-cty/cty"
	"github.com/zclconf/go-cty/cty/convert"
	"github.com/zclconf/go-cty/cty/function"
	"github.com/zclconf/go-cty/cty/function/stdlib"
)

var (
	errNotUTF8  = errors.New("the result is not valid UTF-8, so it cannot be a string")
	errNotKnown = errors.New("neither true nor false")
)

// Standard returns the functions by their names.
func Standard() map[string]function.Function {
	return map[string]function.Function{
		// Text.
		"chomp": stdlib.ChompFunc, "format": stdlib.FormatFunc, "formatlist": stdlib.FormatListFunc, "indent": stdlib.IndentFunc,
		"join": stdlib.JoinFunc, "lower": stdlib.LowerFunc, "regex": stdlib.RegexFunc, "regexall": stdlib.RegexAllFunc,
		"replace": replaceFunc, "split": stdlib.SplitFunc, "strrev": stdlib.ReverseFunc, "substr": stdlib.SubstrFunc,
		"title": stdlib.TitleFunc, "trim": stdlib.TrimFunc, "trimprefix": stdlib.TrimPrefixFunc, "trimspace": stdlib.TrimSpaceFunc,
		"trimsuffix": stdlib.TrimSuffixFunc, "upper": stdlib.UpperFunc,
		"startswith": textPredicate(strings.HasPrefix), "endswith": textPredicate(strings.HasSuffix), "strcontains": textPredicate(strings.Contains),
		"basename": textFunc(path.Base), "dirname": textFunc(path.Dir),
		// Numbers.
		"abs": stdlib.AbsoluteFunc, "ceil": stdlib.CeilFunc, "floor": stdlib.FloorFunc, "log": stdlib.LogFunc, "max": stdlib.MaxFunc,
		"min": stdlib.MinFunc, "parseint": stdlib.ParseIntFunc, "pow": stdlib.PowFunc, "signum": stdlib.SignumFunc,
		// Collections.
		"alltrue": quantifier(false), "anytrue": quantifier(true),
		"chunklist": stdlib.ChunklistFunc, "coalesce": stdlib.CoalesceFunc, "coalescelist": stdlib.CoalesceListFunc, "compact": stdlib.CompactFunc,
		"concat": stdlib.ConcatFunc, "contains": stdlib.ContainsFunc, "distinct": stdlib.DistinctFunc, "element": stdlib.ElementFunc,
		"flatten": stdlib.FlattenFunc, "index": stdlib.IndexFunc, "keys": stdlib.KeysFunc, "length": lengthFunc, "lookup": stdlib.LookupFunc,
		"merge": stdlib.MergeFunc, "one": oneFunc, "range": rangeFunc, "reverse": stdlib.ReverseListFunc, "setintersection": stdlib.SetIntersectionFunc,
		"setproduct": setProductFunc, "setsubtract": stdlib.SetSubtractFunc, "setsymmetricdifference": stdlib.SetSymmetricDifferenceFunc,
		"setunion": stdlib.SetUnionFunc, "slice": stdlib.SliceFunc, "sort": stdlib.SortFunc, "sum": sumFunc, "values": stdlib.ValuesFunc, "zipmap": stdlib.ZipmapFunc,
		// Types.
		"can": tryfunc.CanFunc, "try": tryfunc.TryFunc,
		"tobool": stdlib.MakeToFunc(cty.Bool), "tolist": collectionFunc(cty.List),
		"tomap": collectionFunc(cty.Map), "tonumber": stdlib.MakeToFunc(cty.Number),
		"toset": collectionFunc(cty.Set), "tostring": stdlib.MakeToFunc(cty.String),
		// Encodings and digests.
		"base64decode": base64decodeFunc, "base64encode": textFunc(func(s string) string { return base64.StdEncoding.EncodeToString([]byte(s)) }),
		"csvdecode": stdlib.CSVDecodeFunc, "jsondecode": stdlib.JSONDecodeFunc, "jsonencode": stdlib.JSONEncodeFunc,
		"urlencode": textFunc(url.QueryEscape), "yamldecode": yamlDecodeFunc, "yamlencode": ctyyaml.YAMLEncodeFunc,
		"md5":    textFunc(func(s string) string { sum := md5.Sum([]byte(s)); return hex.EncodeToString(sum[:]) }),  //nolint:gosec // see above
		"sha1":   textFunc(func(s string) string { sum := sha1.Sum([]byte(s)); return hex.EncodeToString(sum[:]) }), //nolint:gosec // see above
		"sha256": textFunc(func(s string) string { sum := sha256.Sum256([]byte(s)); return hex.EncodeToString(sum[:]) }),
		"sha512": textFunc(func(s string) string { sum := sha512.Sum512([]byte(s)); return hex.EncodeToString(sum[:]) }),
		// Time.
		"formatdate": stdlib.FormatDateFunc, "timeadd": stdlib.TimeAddFunc,
	}
}

// textFunc returns a function of one text.
func textFunc(f func(string) string) function.Function {
	return function.New(&function.Spec{
		Params: []function.Parameter{{Name: "text", Type: cty.String}},
		Type:   function.StaticReturnType(cty.String),
		Impl: func(args []cty.Value, _ cty.Type) (cty.Value, error) {
			return cty.StringVal(f(args[0].AsString())), nil
		},
	})
}

func textPredicate(f func(text, part string) bool) function.Function {
	return function.New(&function.Spec{
		Params: []function.Parameter{{Name: "text", Type: cty.String}, {Name: "part", Type: cty.String}},
		Type:   function.StaticReturnType(cty.Bool),
		Impl: func(args []cty.Value, _ cty.Type) (cty.Value, error) {
			return cty.BoolVal(f(args[0].AsString(), args[1].AsString())), nil
		},
	})
}

var base64decodeFunc = function.New(&function.Spec{
	Params: []function.Parameter{{Name: "text", Type: cty.String}},
	Type:   function.StaticReturnType(cty.String),
	Impl: func(args []cty.Value, _ cty.Type) (cty.Value, error) {
		data, err := base64.StdEncoding.DecodeString(args[0].AsString())
		if err != nil {
			return cty.NilVal, function.NewArgErrorf(0, "this is not valid base64")
		}
		if !utf8.Valid(data) {
			return cty.NilVal, errNotUTF8
		}
		return cty.StringVal(string(data)), nil
	},
})

// replaceFunc replaces a text. A text between slashes is a regular expression.
var replaceFunc = function.New(&function.Spec{
	Params: []function.Parameter{{Name: "text", Type: cty.String}, {Name: "old", Type: cty.String}, {Name: "new", Type: cty.String}},
	Type:   function.StaticReturnType(cty.String),
	Impl: func(args []cty.Value, _ cty.Type) (cty.Value, error) {
		old := args[1].AsString()
		if len(old) > 1 && strings.HasPrefix(old, "/") && strings.HasSuffix(old, "/") {
			return stdlib.RegexReplace(args[0], cty.StringVal(old[1:len(old)-1]), args[2])
		}
		return cty.StringVal(strings.ReplaceAll(args[0].AsString(), old, args[2].AsString())), nil
	},
})

// lengthFunc returns the number of elements of a collection, or of characters of a text.
var lengthFunc = function.New(&function.Spec{
	Params: []function.Parameter{{Name: "value", Type: cty.DynamicPseudoType, AllowDynamicType: true}},
	Type:   function.StaticReturnType(cty.Number),
	Impl: func(args []cty.Value, _ cty.Type) (cty.Value, error) {
		typ := args[0].Type()
		switch {
		case typ == cty.DynamicPseudoType:
			return cty.UnknownVal(cty.Number), nil
		case typ == cty.String:
			return stdlib.Strlen(args[0])
		case typ.IsObjectType():
			return cty.NumberIntVal(int64(len(typ.AttributeTypes()))), nil
		case typ.IsCollectionType(), typ.IsTupleType():
			return args[0].Length(), nil
		}
		return cty.NilVal, function.NewArgErrorf(0, "a string, a collection or an object is needed")
	},
})

// quantifier returns anytrue if decisive is true, and alltrue if it is false.
func quantifier(decisive bool) function.Function {
	return function.New(&function.Spec{
		Params: []function.Parameter{{Name: "list", Type: cty.List(cty.Bool)}},
		Type:   function.StaticReturnType(cty.Bool),
		Impl: func(args []cty.Value, _ cty.Type) (cty.Value, error) {
			unknown := false
			for it := args[0].ElementIterator(); it.Next(); {
				_, elem := it.Element()
				switch {
				case !elem.IsKnown():
					unknown = true
				case elem.IsNull():
					return cty.NilVal, function.NewArgErrorf(0, "an element is %w", errNotKnown)
				case elem.True() == decisive:
					return cty.BoolVal(decisive), nil
				}
			}
			if unknown {
				return cty.UnknownVal(cty.Bool), nil
			}
			return cty.BoolVal(!decisive), nil
		},
	})
}

// oneFunc returns the only element of a collection, or null if the collection is empty.
var oneFunc = function.New(&function.Spec{
	Params: []function.Parameter{{Name: "list", Type: cty.DynamicPseudoType}},
	Type: func(args []cty.Value) (cty.Type, error) {
		typ := args[0].Type()
		switch {
		case typ.IsListType(), typ.IsSetType():
			return typ.ElementType(), nil
		case typ.IsTupleType() && len(typ.TupleElementTypes()) == 1:
			return typ.TupleElementType(0), nil
		case typ.IsTupleType() && len(typ.TupleElementTypes()) == 0:
			return cty.DynamicPseudoType, nil
		}
		return cty.NilType, function.NewArgErrorf(0, "a list, a set or a tuple with at most one element is needed")
	},
	Impl: func(args []cty.Value, retType cty.Type) (cty.Value, error) {
		switch args[0].LengthInt() {
		case 0:
			return cty.NullVal(retType), nil
		case 1:
			it := args[0].ElementIterator()
			it.Next()
			_, elem := it.Element()
			return elem, nil
		}
		return cty.NilVal, function.NewArgErrorf(0, "there is more than one element")
	},
})

var sumFunc = function.New(&function.Spec{
	Params: []function.Parameter{{Name: "list", Type: cty.DynamicPseudoType}},
	Type:   function.StaticReturnType(cty.Number),
	Impl: func(args []cty.Value, _ cty.Type) (cty.Value, error) {
		list, err := convert.Convert(args[0], cty.List(cty.Number))
		if err != nil {
			return cty.NilVal, function.NewArgErrorf(0, "a list of numbers is needed")
		}
		total := cty.Zero
		for it := list.ElementIterator(); it.Next(); {
			_, elem := it.Element()
			if elem.IsNull() {
				return cty.NilVal, fmt.Errorf("an element is null")
			}
			if !elem.IsKnown() {
				return cty.UnknownVal(cty.Number), nil
			}
			total = total.Add(elem)
		}
		return total, nil
	},
})
