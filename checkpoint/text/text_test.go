package text

import (
	"encoding/json"
	"testing"
)

func TestTextInJSON(t *testing.T) {
	t.Parallel()
	for in, want := range map[Text]string{
		"": `""`, "plain": `"plain"`, "{": `"{"`, "é\n": `"é\n"`, "a\xff": `{"base64":"Yf8="}`,
	} {
		encoded, err := json.Marshal(in)
		if err != nil || string(encoded) != want {
			t.Errorf("%q: %s, %v, want %s", in, encoded, err, want)
		}
		var back Text
		if err := json.Unmarshal(encoded, &back); err != nil || back != in {
			t.Errorf("%s: %q, %v, want %q", encoded, back, err, in)
		}
	}
	for _, bad := range []string{`{"base64":"?"}`, `7`, `[]`} {
		var got Text
		if err := json.Unmarshal([]byte(bad), &got); err == nil {
			t.Errorf("%s is %q", bad, got)
		}
	}
	var got Text
	if err := got.UnmarshalJSON(nil); err == nil {
		t.Error("no bytes are a text")
	}
}

func TestList(t *testing.T) {
	t.Parallel()
	for want, in := range map[string][]string{`[]`: nil, `["a","b"]`: {"a", "b"}} {
		if got, err := json.Marshal(List(in)); err != nil || string(got) != want {
			t.Errorf("%q: %s, %v", in, got, err)
		}
	}
}
