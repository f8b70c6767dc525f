package mysql

import (
	"crypto/tls"
	"errors"
	"fmt"
	"net"
	"net/url"
	"strings"
	"time"

	"github.com/go-sql-driver/mysql"

	"prdrunner/checkpoint/savepoint/engine"
)

const dialTimeout = 30 * time.Second

// location is where a database is.
type location struct {
	config   *mysql.Config // without the database
	database string
	tls      string // "", "true" or "skip-verify"
}

// parse reads mysql://user:password@host:port/database?socket=/path&tls=true. With
// tls=skip-verify the certificate of the server is not verified.
func parse(raw string) (l location, secret engine.Secret, err error) {
	u, err := url.Parse(raw)
	if err != nil || u.Scheme != "mysql" && u.Scheme != "mariadb" {
		// The error of package url would contain the password.
		return l, secret, errors.New("the URL cannot be read; write mysql://user:password@host:port/database, with %-escapes for special characters")
	}
	password, _ := u.User.Password()
	secret = engine.NewSecret(password)
	query := u.Query()
	l.tls = query.Get("tls")
	for name := range query {
		if name != "socket" && name != "tls" {
			return l, secret, fmt.Errorf("the URL has an unknown parameter %q; known are socket and tls", name)
		}
	}
	l.database = strings.TrimPrefix(u.Path, "/")
	switch {
	case l.database == "":
		return l, secret, errors.New("the URL names no database; write mysql://user:password@host:port/database")
	case isSystem(l.database):
		return l, secret, fmt.Errorf("%s is a database of the server itself", l.database)
	case strings.ContainsAny(l.database, "'\"\\"):
		return l, secret, fmt.Errorf("the name of the database, %s, has quotes or a backslash; mysqldump cannot dump the routines of such a database", l.database)
	case u.User.Username() == "":
		return l, secret, errors.New("the URL names no user; write mysql://user:password@host:port/database")
	}
	l.config = mysql.NewConfig()
	l.config.User, l.config.Passwd = u.User.Username(), password
	l.config.Timeout = dialTimeout
	l.config.MaxAllowedPacket = 0 // that of the server
	l.config.Logger = &mysql.NopLogger{}
	l.config.Params = map[string]string{"time_zone": "'+00:00'", "sql_mode": "''", "lock_wait_timeout": "60"}
	if err := l.setAddress(u, query.Get("socket")); err != nil {
		return l, secret, err
	}
	return l, secret, nil
}

func (l *location) setAddress(u *url.URL, socket string) error {
	host, port := u.Hostname(), u.Port()
	if port == "" {
		port = "3306"
	}
	switch {
	case socket != "":
		l.config.Net, l.config.Addr = "unix", socket
	case host == "":
		return errors.New("the URL names no server; write mysql://user:password@host:port/database or add ?socket=/path")
	default:
		l.config.Net, l.config.Addr = "tcp", net.JoinHostPort(host, port)
	}
	switch l.tls {
	case "", "false":
		l.tls = ""
	case "true":
		l.config.TLS = &tls.Config{ServerName: host}
	case "skip-verify":
		l.config.TLS = &tls.Config{InsecureSkipVerify: true} //nolint:gosec // the user says so
	default:
		return fmt.Errorf("the URL has the unknown value tls=%s; known are true, false and skip-verify", l.tls)
	}
	return nil
}

func isSystem(database string) bool {
	switch strings.ToLower(database) {
	case "mysql", "information_schema", "performance_schema", "sys":
		return true
	}
	return false
}

// arguments tell a program of the family where the server is. They have no password.
func (l *location) arguments(family string) []string {
	args := []string{"--no-defaults", "--user=" + l.config.User, "--default-character-set=utf8mb4"}
	if l.config.Net == "unix" {
		args = append(args, "--protocol=SOCKET", "--socket="+l.config.Addr)
	} else {
		host, port, _ := net.SplitHostPort(l.config.Addr) // JoinHostPort made it
		args = append(args, "--protocol=TCP", "--host="+host, "--port="+port)
	}
	switch {
	case l.tls == "true" && family == mariadb:
		args = append(args, "--ssl", "--ssl-verify-server-cert")
	case l.tls == "true":
		args = append(args, "--ssl-mode=VERIFY_IDENTITY")
	case l.tls == "skip-verify" && family == mariadb:
		args = append(args, "--ssl")
	case l.tls == "skip-verify":
		args = append(args, "--ssl-mode=REQUIRED")
	}
	return args
}
