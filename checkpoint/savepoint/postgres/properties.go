package postgres

import (
	"context"
	"fmt"
	"strconv"
	"strings"
)

// properties are what belongs to a database itself and is in no dump of its contents.
type properties struct {
	name, owner, encoding, collate, ctype, provider, locale, tablespace, limit, comment string

	privileges [][]string // grantee ("" for PUBLIC), privilege, whether it can be granted on; nil: the default
	settings   [][]string // role ("" for every role), setting, value
}

// propertiesOf reads the properties of the database.
func (e *Engine) propertiesOf(ctx context.Context, m *conn) (*properties, error) {
	name := e.location.database
	provider, locale := "'c'", "NULL"
	switch version, _ := strconv.Atoi(m.ParameterStatus("server_version")[:2]); {
	case version >= 17:
		provider, locale = "datlocprovider", "datlocale"
	case version >= 15:
		provider, locale = "datlocprovider", "daticulocale"
	}
	rows, err := m.rows(ctx, `SELECT r.rolname, pg_encoding_to_char(encoding), datcollate, datctype, `+provider+`, `+locale+`,
		spcname, datconnlimit, shobj_description(d.oid, 'pg_database'), datacl IS NULL, datistemplate
		FROM pg_database d JOIN pg_roles r ON r.oid = datdba JOIN pg_tablespace t ON t.oid = dattablespace WHERE datname = $1`, name)
	if err != nil {
		return nil, fmt.Errorf("read the properties of the database: %w", err)
	}
	if len(rows) == 0 {
		return nil, fmt.Errorf("there is no database %q; if a savepoint of it is to be restored, create an empty one, which has the properties that the restored one shall have", name)
	}
	r := rows[0]
	if r[10] == "t" {
		return nil, fmt.Errorf("the database %q is marked as a template, and others may be created from it", name)
	}
	p := &properties{
		name: name, owner: r[0], encoding: r[1], collate: r[2], ctype: r[3], provider: r[4], locale: r[5],
		tablespace: r[6], limit: r[7], comment: r[8],
	}
	if r[9] == "f" {
		if p.privileges, err = m.rows(ctx, `SELECT coalesce(r.rolname, ''), privilege_type, is_grantable
			FROM pg_database, aclexplode(datacl) a LEFT JOIN pg_roles r ON r.oid = a.grantee WHERE datname = $1`, name); err != nil {
			return nil, fmt.Errorf("read the privileges of the database: %w", err)
		}
		p.privileges = append([][]string{}, p.privileges...)
	}
	p.settings, err = m.rows(ctx, `SELECT coalesce(r.rolname, ''), split_part(s, '=', 1), substr(s, strpos(s, '=') + 1)
		FROM pg_db_role_setting JOIN pg_database d ON d.oid = setdatabase LEFT JOIN pg_roles r ON r.oid = setrole, unnest(setconfig) s
		WHERE datname = $1`, name)
	if err != nil {
		return nil, fmt.Errorf("read the settings of the database: %w", err)
	}
	return p, nil
}

// create creates an empty database that sorts and encodes texts as the database does.
func (p *properties) create(ctx context.Context, m *conn, name string) error {
	statement := "CREATE DATABASE " + ident(name) + " TEMPLATE template0 OWNER " + ident(p.owner) +
		" ENCODING " + literal(p.encoding) + " LC_COLLATE " + literal(p.collate) + " LC_CTYPE " + literal(p.ctype) +
		p.inTablespace()
	switch p.provider {
	case "i":
		statement += " LOCALE_PROVIDER icu ICU_LOCALE " + literal(p.locale)
	case "b":
		statement += " LOCALE_PROVIDER builtin BUILTIN_LOCALE " + literal(p.locale)
	}
	if err := m.exec(ctx, statement); err != nil {
		return fmt.Errorf("create the scratch database %s: %w", name, err)
	}
	return nil
}

// inTablespace returns a part of CREATE DATABASE. Only superusers may name the default
// tablespace.
func (p *properties) inTablespace() string {
	if p.tablespace == "pg_default" {
		return ""
	}
	return " TABLESPACE " + ident(p.tablespace)
}

// apply gives a scratch database the properties of the database.
func (e *Engine) apply(ctx context.Context, m *conn, p *properties, name string) error {
	var s strings.Builder
	database := ident(name)
	s.WriteString("BEGIN;")
	if p.comment != "" {
		fmt.Fprintf(&s, "COMMENT ON DATABASE %s IS %s;", database, literal(p.comment))
	}
	if p.privileges != nil {
		fmt.Fprintf(&s, "REVOKE ALL ON DATABASE %s FROM PUBLIC, %s;", database, ident(p.owner))
	}
	for _, grant := range p.privileges {
		to, option := "PUBLIC", ""
		if grant[0] != "" {
			to = ident(grant[0])
		}
		if grant[2] == "t" {
			option = " WITH GRANT OPTION"
		}
		fmt.Fprintf(&s, "GRANT %s ON DATABASE %s TO %s%s;", grant[1], database, to, option)
	}
	// A list keeps its quotes when it is set from the current value.
	for _, setting := range p.settings {
		whose := "ALTER DATABASE " + database
		if setting[0] != "" {
			whose = "ALTER ROLE " + ident(setting[0]) + " IN DATABASE " + database
		}
		fmt.Fprintf(&s, "SELECT pg_catalog.set_config(%s, %s, true); %s SET %s FROM CURRENT; SET LOCAL %s TO DEFAULT;",
			literal(setting[1]), literal(setting[2]), whose, setting[1], setting[1])
	}
	fmt.Fprintf(&s, "ALTER DATABASE %s CONNECTION LIMIT %s; COMMIT", database, p.limit)
	if err := m.exec(ctx, s.String()); err != nil {
		_ = m.exec(ctx, "ROLLBACK") // the first error counts
		return fmt.Errorf("carry over the owner, privileges and settings of the database: %w", err)
	}
	return nil
}
