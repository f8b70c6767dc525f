// Package schema holds the migrations of the cashier's database. They are
// applied in the order of their names and never edited once applied.
package schema

import "embed"

// Files are the migrations.
//
//go:embed *.sql
var Files embed.FS
