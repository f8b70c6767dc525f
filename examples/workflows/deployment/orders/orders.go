// Package orders reads the shop's orders, before and after migrations/0002_currency.awk.
package orders

import (
	"bytes"
	"encoding/csv"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
)

// Total is what all orders in one currency amount to.
type Total struct {
	Orders, Cents int
}

// Totals reads the database in a directory, and returns the totals by currency.
func Totals(dir string) (map[string]Total, error) {
	file := filepath.Join(dir, "orders.csv")
	data, err := os.ReadFile(file)
	if err != nil {
		return nil, err
	}
	rows, err := csv.NewReader(bytes.NewReader(data)).ReadAll()
	if err != nil {
		return nil, fmt.Errorf("read %s: %w", file, err)
	}
	totals := map[string]Total{}
	for _, row := range rows {
		currency := "eur" // of all orders until the migration
		if len(row) == 4 {
			currency = row[3]
		}
		cents, err := strconv.Atoi(row[2])
		if err != nil {
			return nil, fmt.Errorf("order %s in %s: %w", row[0], file, err)
		}
		t := totals[currency]
		totals[currency] = Total{Orders: t.Orders + 1, Cents: t.Cents + cents}
	}
	return totals, nil
}
