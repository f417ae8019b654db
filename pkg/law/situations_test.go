// Copyright The Kubizone Authors.
// SPDX-License-Identifier: Apache-2.0

package law_test

import (
	"testing"

	"github.com/cockroachdb/datadriven"

	"kubi.zone/kubizone/test/must"
	"kubi.zone/kubizone/test/situations"
)

// docs/situations.md gives examples of what happens in various situations. Each example runs here as a test, with the
// commands of TestScenarios and shortened answers.
func TestSituations(t *testing.T) {
	for _, s := range must.Get(situations.Read("../../docs/situations.md"))(t) {
		t.Run(s.Number+" "+s.Title, func(t *testing.T) {
			w := newWorld()
			datadriven.RunTestFromString(t, s.Story, func(t *testing.T, d *datadriven.TestData) string {
				out := w.runCommand(t, d)
				if d.Cmd == "show" {
					return w.showShort(t, d)
				}
				return situations.Shorten(d.Cmd, out)
			})
		})
	}
}

func (w *world) showShort(t *testing.T, d *datadriven.TestData) string {
	switch o := parseObject(t, d, d.CmdArgs[1].Key); d.CmdArgs[0].Key {
	case "record":
		switch p := w.records[o].placed; {
		case p.Zone == nil:
			return "waits, reason " + p.Reason + "\n"
		case p.EndsAt != 0:
			return "in zone " + p.Zone.Namespace + "/" + p.Zone.Name + ", reason " + p.Reason + "\n"
		default:
			return "in zone " + p.Zone.Namespace + "/" + p.Zone.Name + "\n"
		}
	case "zone":
		z := w.zones[o]
		if z.zone.Pending {
			return "waits, reason " + z.delegated.Reason + "\n"
		}
		return "stays, reason " + z.delegated.Reason + "\n"
	}
	d.Fatalf(t, "show what?")
	return ""
}
