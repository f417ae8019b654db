// Copyright The Kubizone Authors.
// SPDX-License-Identifier: Apache-2.0

package zonefile

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"kubi.zone/kubizone/test/must"
)

// Read takes the files of the exporters in docs/coming-from.md. After repairs, which correct each slip of the exporter,
// BIND has the same records.
func TestRead_exports(t *testing.T) {
	const stamp = "the time stamp of Windows ([AGE:…]) is dropped: the record stays until it is deleted"
	for file, tc := range map[string]struct {
		repairs []string
		said    []string // notes, and refused lines with "!"
	}{
		"cloudflare.txt": {repairs: []string{"zone.example\t", "zone.example.\t"},
			said: []string{`7 the owner "zone.example" lacks its last dot, as Cloudflare writes it, ` +
				"and is taken as the zone's name zone.example."}},
		"azure.txt": {repairs: []string{"azuredns-hostmaster.microsoft.com ", "azuredns-hostmaster.microsoft.com. "},
			said: []string{"10 the contact azuredns-hostmaster.microsoft.com lacks its last dot, as Azure writes it, " +
				"and is taken as absolute"}},
		"google.txt": {},
		"route53.txt": {repairs: []string{"@\t60\tAWS\t", ";", `\052`, ";", `0\057`, ";"}, said: []string{
			"5! an alias of Route 53 is no record of DNS",
			`6! the label \052 is "*" in octal, as Route 53 writes a wildcard, but "4" in a zone file`,
			`7! \057 is "/" in octal, as Route 53 writes it, but "9" in a zone file`}},
		"powerdns.txt": {},
		"windows.txt": {repairs: []string{"[AGE:3731000]", "", "[AGE:3731007]", "", "[AGE:3731042]", ""},
			said: []string{"25 " + stamp, "26 " + stamp, "27 " + stamp, "30 " + stamp}},
		"dnscontrol.txt": {},
		"octodns.txt":    {},
	} {
		t.Run(file, func(t *testing.T) {
			text := string(must.Get(os.ReadFile(filepath.Join("testdata/exports", file)))(t))
			var got, said []string
			for _, line := range renderFile(text, ReadOptions{Origin: zone}) {
				number, what, _ := strings.Cut(line, " ")
				switch {
				case number == "note:":
					n, _, _ := strings.Cut(said[len(said)-1], " ")
					said[len(said)-1] = n + " " + what
				case strings.HasSuffix(number, "!"):
					reason, _, _ := strings.Cut(what, " | ")
					said = append(said, number+" "+reason)
				default:
					got, said = append(got, what), append(said, number+" ")
				}
			}
			said = slices.DeleteFunc(said, func(line string) bool { return strings.HasSuffix(line, " ") })
			if !slices.Equal(said, tc.said) {
				t.Errorf("said\n\t%s\nwant\n\t%s", strings.Join(said, "\n\t"), strings.Join(tc.said, "\n\t"))
			}
			repaired := strings.NewReplacer(tc.repairs...).Replace(text)
			var want []string
			for _, e := range readZone(t, compileZone(t, []byte(repaired))) {
				want = append(want, fmt.Sprintf("%s %d %s %s", e.Name, e.TTL, e.Type, e.Data))
			}
			slices.Sort(got)
			slices.Sort(want)
			if !slices.Equal(got, want) || len(want) < 5 {
				t.Errorf("got\n\t%s\nBIND has\n\t%s", strings.Join(got, "\n\t"), strings.Join(want, "\n\t"))
			}
		})
	}
}
