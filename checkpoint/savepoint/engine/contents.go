package engine

import (
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"fmt"
	"hash"
	"math/bits"
)

// Digest identifies the contents of a database: its schema and rows, whatever their order
// and their place on the disk.
type Digest struct {
	Sum    string // "sha256:" and 64 hex digits
	Tables int
	Rows   int64
}

// Contents collects what a digest is made of. Facts must be added in an order that depends
// on nothing but their names.
type Contents struct {
	hash   hash.Hash
	tables int
	rows   int64
}

// NewContents returns contents without facts.
func NewContents() *Contents { return &Contents{hash: sha256.New()} }

// Add adds a fact: any number of texts, none of which can be taken for two.
func (c *Contents) Add(texts ...string) {
	var length [8]byte
	binary.BigEndian.PutUint64(length[:], uint64(len(texts)))
	_, _ = c.hash.Write(length[:]) // a hash never fails
	for _, text := range texts {
		binary.BigEndian.PutUint64(length[:], uint64(len(text)))
		_, _ = c.hash.Write(length[:])
		_, _ = c.hash.Write([]byte(text))
	}
}

// AddTable adds a table with the number of its rows and their sum.
func (c *Contents) AddTable(name string, rows int64, sum string) {
	c.tables++
	c.rows += rows
	c.Add("table", name, fmt.Sprint(rows), sum)
}

// Digest returns the digest of what was added so far.
func (c *Contents) Digest() Digest {
	return Digest{Sum: "sha256:" + hex.EncodeToString(c.hash.Sum(nil)), Tables: c.tables, Rows: c.rows}
}

// RowSum is a sum of rows that does not depend on their order: the sum of 128 bits of the
// hash of each row. Unlike an XOR, it counts equal rows.
type RowSum struct {
	Rows     int64
	high     uint64
	low      uint64
	row      hash.Hash
	buffered [sha256.Size]byte
}

// Begin begins a row.
func (s *RowSum) Begin() {
	if s.row == nil {
		s.row = sha256.New()
	}
	s.row.Reset()
}

// Cell adds a value of the row. The kind tells, for example, NULL from an empty text.
func (s *RowSum) Cell(kind byte, value []byte) {
	var head [9]byte
	head[0] = kind
	binary.BigEndian.PutUint64(head[1:], uint64(len(value)))
	_, _ = s.row.Write(head[:]) // a hash never fails
	_, _ = s.row.Write(value)
}

// End adds the row to the sum.
func (s *RowSum) End() {
	sum := s.row.Sum(s.buffered[:0])
	var carry uint64
	s.low, carry = bits.Add64(s.low, binary.BigEndian.Uint64(sum[8:16]), 0)
	s.high, _ = bits.Add64(s.high, binary.BigEndian.Uint64(sum[:8]), carry)
	s.Rows++
}

// String returns the sum as 32 hex digits.
func (s *RowSum) String() string { return fmt.Sprintf("%016x%016x", s.high, s.low) }
