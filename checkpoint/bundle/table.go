package bundle

import (
	"bufio"
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"hash"
	"io"
	"regexp"
	"unicode/utf8"
)

// tableName is the name of the first member.
const tableName = "bundle.json"

// A table is a JSON object on several lines:
//
//	{"format_version":"1.0","header":{…},"members":[
//	{"name":"…","size":1,"sha256":"…"},
//	{"name":"…","size":2,"sha256":"…"}
//	],"sum":"…"}
//
// Every version begins the first line this way. The sum is the SHA-256 of all bytes before
// its comma, so that it protects the header as the other sums protect the members.
const (
	versionKey = `{"format_version":"`
	headerKey  = versionKey + FormatVersion + `","header":`
	membersKey = `,"members":[`
	sumKey     = `],"sum":"`
	tableEnd   = `"}`
)

const (
	maxHeader = 16 << 20 // length of the caller's object in bytes
	maxLine   = 2 << 10  // length of a member's line in bytes
)

// compactHeader checks the caller's object and removes its white space.
func compactHeader(header json.RawMessage) (json.RawMessage, error) {
	var b bytes.Buffer
	if err := json.Compact(&b, header); err != nil {
		return nil, fmt.Errorf("the header is not JSON: %w", err)
	}
	switch {
	case b.Len() == 0 || b.Bytes()[0] != '{':
		return nil, errors.New("the header is not a JSON object")
	case b.Len() > maxHeader:
		return nil, fmt.Errorf("the header is longer than %d bytes", maxHeader)
	case !utf8.Valid(b.Bytes()):
		return nil, errors.New("the header is not UTF-8")
	}
	return b.Bytes(), nil
}

// writeTable writes the table of the contents.
func writeTable(w io.Writer, c *Contents) error {
	sum := sha256.New()
	b := bufio.NewWriter(io.MultiWriter(w, sum))
	// The bufio.Writer keeps its first error until Flush.
	fmt.Fprintf(b, "%s%s%s", headerKey, c.Header, membersKey)
	between := "\n"
	for _, m := range c.Members {
		line, err := json.Marshal(m)
		if err != nil {
			return fmt.Errorf("write the table: %w", err)
		}
		fmt.Fprintf(b, "%s%s", between, line)
		between = ",\n"
	}
	fmt.Fprint(b, "\n]")
	if err := b.Flush(); err != nil {
		return fmt.Errorf("write the table: %w", err)
	}
	return writeAll(w, []byte(endLine(sum)[1:]+"\n"))
}

// endLine returns the last line, given the hash of the bytes before it.
func endLine(sum hash.Hash) string { return sumKey + hex.EncodeToString(sum.Sum(nil)) + tableEnd }

// tableReader reads a table line by line, so that memory holds only the decoded table.
type tableReader struct {
	r      *bufio.Reader
	limits Limits
	sum    hash.Hash // hash of the lines before the last
}

// version reads the format version. For an unknown version, nothing else is read.
func (t *tableReader) version() error {
	const longest = 32
	begin, err := t.r.Peek(len(versionKey) + longest)
	if err != nil && !errors.Is(err, io.EOF) {
		return err
	}
	found := regexp.MustCompile(`^` + regexp.QuoteMeta(versionKey) + `([0-9]+\.[0-9]+)"`).FindSubmatch(begin)
	if found == nil {
		return &DamagedError{Member: tableName, Detail: "it does not begin with a format version"}
	}
	if v := string(found[1]); v != FormatVersion {
		return &VersionError{Version: v}
	}
	return nil
}

// contents reads the whole table.
func (t *tableReader) contents() (*Contents, error) {
	header, err := t.header()
	if err != nil {
		return nil, err
	}
	members, err := t.members()
	if err != nil {
		return nil, err
	}
	if _, err := t.r.ReadByte(); !errors.Is(err, io.EOF) {
		return nil, orDamaged(err, &DamagedError{Member: tableName, Detail: "something follows the table"})
	}
	var wrong *NameError
	if err := checkNames(members); errors.As(err, &wrong) {
		return nil, &DamagedError{Member: wrong.Name, Detail: wrong.Detail}
	}
	return &Contents{Header: header, Members: members}, nil
}

func (t *tableReader) header() (json.RawMessage, error) {
	line, err := t.readLine(len(headerKey) + maxHeader + len(membersKey))
	if err != nil {
		return nil, err
	}
	inside, begins := bytes.CutPrefix(line, []byte(headerKey))
	inside, ends := bytes.CutSuffix(inside, []byte(membersKey))
	header, err := compactHeader(inside)
	if !begins || !ends || err != nil || !bytes.Equal(header, inside) {
		return nil, &DamagedError{Member: tableName, Detail: "its first line is not as it should be"}
	}
	t.addToSum(line)
	return header, nil
}

func (t *tableReader) addToSum(line []byte) {
	t.sum.Write(line)
	t.sum.Write([]byte{'\n'})
}

// checkEnd compares the last line with the expected one.
func (t *tableReader) checkEnd(line []byte) error {
	t.sum.Write([]byte{']'})
	if string(line) != endLine(t.sum) {
		return &DamagedError{Member: tableName, Detail: "its sum is not that of its bytes"}
	}
	return nil
}

func (t *tableReader) members() ([]Member, error) {
	var members []Member
	total := int64(0)
	for more := false; ; {
		line, err := t.readLine(maxLine)
		if err != nil {
			return nil, err
		}
		if bytes.HasPrefix(line, []byte(sumKey)) && !more {
			return members, t.checkEnd(line)
		}
		if len(members) > 0 && !more {
			return nil, &DamagedError{Member: tableName, Detail: "a comma is missing in the table"}
		}
		t.addToSum(line)
		line, more = bytes.CutSuffix(line, []byte(","))
		m, err := decodeMember(line)
		if err != nil {
			return nil, err
		}
		if err := t.limits.check(m, len(members), total); err != nil {
			return nil, err
		}
		members = append(members, m)
		total += m.Size
	}
}

// decodeMember decodes a line of the table. It refuses a line that Write would write in
// another form.
func decodeMember(line []byte) (Member, error) {
	var m Member
	if err := json.Unmarshal(line, &m); err != nil {
		return Member{}, &DamagedError{Member: tableName, Detail: "a line of the table is not JSON"}
	}
	if again, err := json.Marshal(m); err != nil || !bytes.Equal(again, line) {
		return Member{}, &DamagedError{Member: m.Name, Detail: "its line in the table is not as it should be"}
	}
	if m.Size < 0 {
		return Member{}, &DamagedError{Member: m.Name, Detail: "its size is negative"}
	}
	return m, nil
}

// readLine reads a line of at most limit bytes, and returns it without its end.
func (t *tableReader) readLine(limit int) ([]byte, error) {
	var line []byte
	for {
		part, err := t.r.ReadSlice('\n')
		if len(line)+len(part) > limit+1 {
			return nil, &DamagedError{Member: tableName, Detail: "it has too long a line"}
		}
		line = append(line, part...)
		switch {
		case err == nil:
			return line[:len(line)-1], nil
		case errors.Is(err, io.EOF):
			return nil, &DamagedError{Member: tableName, Detail: "it ends in the middle of a line"}
		case !errors.Is(err, bufio.ErrBufferFull):
			return nil, err
		}
	}
}

// orDamaged returns a read error if there was one, else the damage.
func orDamaged(err error, damage *DamagedError) error {
	if err != nil {
		return err
	}
	return damage
}
