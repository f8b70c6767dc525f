package postgres

import (
	"errors"
	"fmt"
	"net/url"
	"slices"
	"strconv"
	"strings"

	"github.com/jackc/pgx/v5/pgconn"

	"prdrunner/checkpoint/savepoint/engine"
)

// location is where a database is.
type location struct {
	config   *pgconn.Config
	database string
	query    url.Values // the parameters that the programs of PostgreSQL get
}

// parameters are those that both our connections and the programs of PostgreSQL know.
func parameters() []string {
	return []string{
		"host", "port", "user", "dbname", "password", "sslmode", "sslcert", "sslkey", "sslrootcert",
		"connect_timeout", "application_name", "options",
	}
}

// parse reads postgres://user:password@host:port/database?parameters. What is missing
// comes from the environment and the password file, as with psql.
func parse(raw string) (l location, secret engine.Secret, err error) {
	u, err := url.Parse(raw)
	if err != nil || u.Scheme != "postgres" && u.Scheme != "postgresql" {
		// The error of package url would contain the password.
		return l, secret, errors.New("the URL cannot be read; write postgres://user:password@host:port/database, with %-escapes for special characters")
	}
	l.query = u.Query()
	password, _ := u.User.Password()
	if p := l.query.Get("password"); p != "" {
		password = p
	}
	secret = engine.NewSecret(password)
	for name := range l.query {
		if !slices.Contains(parameters(), name) {
			return l, secret, fmt.Errorf("the URL has an unknown parameter %q; known are %s", name, strings.Join(parameters(), ", "))
		}
	}
	l.config, err = pgconn.ParseConfig(raw)
	if err != nil {
		return l, secret, fmt.Errorf("the URL cannot be read: %w", err)
	}
	if l.database = l.config.Database; l.database == "" {
		return l, secret, errors.New("the URL names no database; write postgres://user:password@host:port/database")
	}
	if strings.Contains(u.Host, ",") || strings.Contains(l.query.Get("host"), ",") {
		return l, secret, errors.New("the URL names several servers")
	}
	for _, name := range []string{"host", "port", "user", "dbname", "password"} {
		l.query.Del(name)
	}
	return l, engine.NewSecret(l.config.Password), nil
}

// url names a database for the programs of PostgreSQL. It has no password: command lines
// can be read by everyone.
func (l *location) url(database string) string {
	query := url.Values{}
	for name, values := range l.query {
		query[name] = values
	}
	query.Set("host", l.config.Host)
	query.Set("port", strconv.Itoa(int(l.config.Port)))
	u := url.URL{Scheme: "postgresql", User: url.User(l.config.User), Path: "/" + database, RawQuery: strings.ReplaceAll(query.Encode(), "+", "%20")}
	return u.String()
}
