// Copyright The Kubizone Authors.
// SPDX-License-Identifier: Apache-2.0

package names

import (
	"bytes"
	"strings"
	"testing"

	"kubi.zone/kubizone/cmd/output"
	"kubi.zone/kubizone/pkg/apis/reasons"
	"kubi.zone/kubizone/pkg/client/why"
)

// The first lines name the object, the fault, and the next step with its role. The object of a single path is named
// once.
func TestPrintChain_beginsWithTheObject(t *testing.T) {
	makePath := func(object string, links ...why.Link) why.Path {
		return why.Path{Subject: why.Subject{Kind: "Record", Namespace: "team", Name: object, FQDN: "www.example.org.", Type: "A"},
			State: links[0].State, Links: links}
	}
	held := why.Link{Kind: "Rule", State: why.Fails, Reason: "NameHeld", Text: "another namespace claims the name", Mends: reasons.You,
		Step: "choose another name"}
	moving := why.Link{Kind: "Serial", Of: "8", State: why.Waits, Reason: "Cascading", Text: "many objects change", Step: "nothing"}
	good := why.Link{Kind: "Rule", State: why.OK, Text: "in zone example.org."}
	for _, test := range []struct {
		chain      why.Chain
		want, fail string
	}{
		{why.Chain{Question: "q", State: why.OK, Paths: []why.Path{makePath("a", good)}},
			"record team/a www.example.org. A:\nok  rule  in zone example.org.\n", ""},
		{why.Chain{Question: "q", State: why.Waits, First: &moving, Paths: []why.Path{makePath("a", moving, good)}}, `
record team/a www.example.org. A:
waits  serial 8  Cascading: many objects
                 change
       nothing to do: it ends by itself

waits  serial 8  Cascading: many objects
                 change
ok     rule      in zone example.org.
`, "q: serial 8 waits (Cascading); nothing to do: it ends by itself"},
		{why.Chain{Question: "q", State: why.Fails, First: &held, Paths: []why.Path{makePath("a", good), makePath("b", held)}}, `
record team/b www.example.org. A:
FAILS  rule  NameHeld: another namespace
             claims the name
       you: choose another name

record team/a www.example.org. A:
ok  rule  in zone example.org.

record team/b www.example.org. A:
FAILS  rule  NameHeld: another namespace
             claims the name
`, "q: rule fails (NameHeld); you: choose another name"},
	} {
		var out bytes.Buffer
		screen := output.NewScreenWriter(&out, output.Screen{Width: 40})
		text := output.NewText(screen)
		printChain(text, &test.chain)
		_, err := text.WriteTo(screen)
		if got := out.String(); err != nil || got != strings.TrimPrefix(test.want, "\n") {
			t.Errorf("%v\n%s\nwant\n%s", err, got, test.want)
		}
		if err := judgeChain(&test.chain); (err == nil) != (test.fail == "") || err != nil && err.Error() != test.fail {
			t.Errorf("%v, want %s", err, test.fail)
		}
	}
}
