package mysql

import (
	"context"
	"fmt"
	"slices"
	"strings"
)

// kind is what a database consists of.
type kind int

const (
	table kind = iota
	view
	trigger
	procedure
	function
	event
)

// statement returns the word of SQL for a kind.
func (k kind) statement() string {
	return [...]string{"TABLE", "VIEW", "TRIGGER", "PROCEDURE", "FUNCTION", "EVENT"}[k]
}

// query returns the query for the names in a database.
func (k kind) query() string {
	switch k {
	case table:
		return "SELECT TABLE_NAME FROM information_schema.TABLES WHERE TABLE_TYPE = 'BASE TABLE' AND TABLE_SCHEMA = ?"
	case view:
		return "SELECT TABLE_NAME FROM information_schema.VIEWS WHERE TABLE_SCHEMA = ?"
	case trigger:
		return "SELECT TRIGGER_NAME FROM information_schema.TRIGGERS WHERE TRIGGER_SCHEMA = ?"
	case event:
		return "SELECT EVENT_NAME FROM information_schema.EVENTS WHERE NOT (EVENT_TYPE = 'ONE TIME' AND ON_COMPLETION = 'NOT PRESERVE') AND EVENT_SCHEMA = ?"
	case procedure, function:
		return "SELECT ROUTINE_NAME FROM information_schema.ROUTINES WHERE ROUTINE_TYPE = '" + k.statement() + "' AND ROUTINE_SCHEMA = ?"
	default:
		panic(fmt.Sprintf("there is no kind %d", k))
	}
}

// namesOf returns the names of what a database has of a kind, sorted.
func (s *server) namesOf(ctx context.Context, database string, k kind) ([]string, error) {
	names, err := s.names(ctx, k.query(), database)
	if err != nil {
		return nil, fmt.Errorf("list each %s of database %s: %w", strings.ToLower(k.statement()), database, err)
	}
	slices.Sort(names)
	return names, nil
}
