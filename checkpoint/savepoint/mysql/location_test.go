package mysql

import (
	"strings"
	"testing"
)

func TestArguments(t *testing.T) {
	t.Parallel()
	const common = "--no-defaults --user=me --default-character-set=utf8mb4 "
	for _, c := range []struct{ url, family, want string }{
		{"mysql://me:secret@host/db", oracle, "--protocol=TCP --host=host --port=3306"},
		{"mysql://me:secret@[::1]:3307/db", mariadb, "--protocol=TCP --host=::1 --port=3307"},
		{"mysql://me:secret@/db?socket=/run/s", mariadb, "--protocol=SOCKET --socket=/run/s"},
		{"mysql://me:secret@host/db?tls=true", mariadb, "--protocol=TCP --host=host --port=3306 --ssl --ssl-verify-server-cert"},
		{"mysql://me:secret@host/db?tls=true", oracle, "--protocol=TCP --host=host --port=3306 --ssl-mode=VERIFY_IDENTITY"},
		{"mysql://me:secret@host/db?tls=skip-verify", mariadb, "--protocol=TCP --host=host --port=3306 --ssl"},
		{"mysql://me:secret@host/db?tls=skip-verify", oracle, "--protocol=TCP --host=host --port=3306 --ssl-mode=REQUIRED"},
	} {
		l, _, err := parse(c.url)
		if err != nil {
			t.Errorf("%s: %v", c.url, err)
			continue
		}
		if is := strings.Join(l.arguments(c.family), " "); is != common+c.want {
			t.Errorf("%s gives %s\ninstead of %s", c.url, is, common+c.want)
		}
	}
}
