package dialect

import (
	"fmt"
	"math"
	"strconv"
	"strings"
	"text/template"
)

// Render writes SQL from a template. Beside those of the dialect it may use the actions of more. The actions take SQL:
//
//	create "view"              what a view begins with
//	done                       what it ends with
//	of "t" "x y"               the columns x and y of t, which is joined
//	equal "s" "t" "x y"        the condition that s and t have the same x and y
//	bigint "x", text "x"       x as a value of that type; as well integer
//	some "x"                   one value of a group that is not null, null if all are
//	percentile "x" "0.99"      the least value that at least this share of those in the group does not exceed
//	mean "x"                   the mean of integers, rounded to an integer
//	div "x" "y"                x divided by y, both integers, truncated towards 0
//	time "x"                   the typed time of Unix nanoseconds
//	least "x" "y"              the lesser, where one is null the other
//	last "x"                   in front of OVER: the last x that is not null
//	each "from" "to" "n"       behind a table: its rows with each integer n of these, both included
func (d *Dialect) Render(source string, more template.FuncMap) (string, error) {
	actions := template.FuncMap{
		"create":  d.Create,
		"done":    d.End,
		"of":      func(table, columns string) string { return d.Of(table, strings.Fields(columns)...) },
		"equal":   equal,
		"bigint":  func(x string) string { return d.Cast(x, BigInt) },
		"integer": func(x string) string { return d.Cast(x, Integer) },
		"text":    func(x string) string { return d.Cast(x, Text) },
		"some":    func(x string) string { return fmt.Sprintf(d.some, x) },
		"percentile": func(x, share string) (string, error) {
			part, err := strconv.ParseFloat(share, 64)
			if err != nil {
				return "", err
			}
			return fmt.Sprintf(d.rank, x, share, int(math.Round(part*1000))), nil
		},
		"mean":  d.meanOf,
		"div":   func(x, y string) string { return fmt.Sprintf(d.divided, x, y) },
		"time":  d.Time,
		"least": leastOf,
		"last":  func(x string) string { return fmt.Sprintf(d.last, x) },
		"each":  func(from, to, name string) string { return fmt.Sprintf(d.each, from, to, name) },
	}
	parsed, err := template.New(d.Name).Funcs(actions).Funcs(more).Parse(source)
	if err != nil {
		return "", err
	}
	var sql strings.Builder
	if err := parsed.Execute(&sql, nil); err != nil {
		return "", err
	}
	return sql.String(), nil
}

// equal is the condition of a join by columns of the same names.
func equal(s, t, columns string) string {
	var equal []string
	for _, c := range strings.Fields(columns) {
		equal = append(equal, fmt.Sprintf("%s.%s = %s.%s", s, c, t, c))
	}
	return strings.Join(equal, " AND ")
}

// leastOf is null only if both are: some engines, and some versions of others, take null for the least of null and a
// number.
func leastOf(x, y string) string {
	return fmt.Sprintf("coalesce(least(%[1]s, %[2]s), %[1]s, %[2]s)", x, y)
}

// meanOf is the sum and half of the count, divided by the count and rounded down, as Go does. Sums stay exact where an
// average in floating-point numbers would not, and a half is rounded up everywhere, also of negative numbers.
func (d *Dialect) meanOf(x string) string {
	doubled := fmt.Sprintf("2 * sum(%[1]s) + count(%[1]s)", x)
	return d.Cast(fmt.Sprintf(d.divided, fmt.Sprintf("(%[1]s - CASE WHEN %[1]s < 0 THEN 2 * count(%[2]s) - 1 ELSE 0 END)", doubled, x),
		fmt.Sprintf("nullif(2 * count(%s), 0)", x)), BigInt)
}
