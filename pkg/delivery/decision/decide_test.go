// Copyright The Kubizone Authors.
// SPDX-License-Identifier: Apache-2.0

package decision_test

import (
	"fmt"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/cockroachdb/datadriven"

	"kubi.zone/kubizone/pkg/delivery"
	"kubi.zone/kubizone/pkg/delivery/plan"
	"kubi.zone/kubizone/pkg/dns/name"
	"kubi.zone/kubizone/pkg/dns/rdata"
	"kubi.zone/kubizone/pkg/dns/serial"
	"kubi.zone/kubizone/pkg/zone/zoneview"
	"kubi.zone/kubizone/test/deliverytest"
)

// TestStories runs the decisions for one delivery to class main in testdata/*.txt. "go test -rewrite" writes the output
// anew. There is no jitter. Each file begins with a zone example.org. with www and mail. Commands:
//
//	zone                       change the zone, one owner a line: NAME ADDRESS, or -NAME to remove the owner
//	rename NAME                the same zone has another name, since its parent has: a view with the first content
//	desire [paused] [withdraw] [elsewhere] [request=TEXT]      the wanted state; elsewhere: in another class
//	class [target=TEXT] [broken] [servers=NAME,...]            the class; broken: without a provider
//	others [taken] [awaited] [given] [replaced]                the flags of story
//	view gone|told             the zone's content is unknown; told: the last content
//	next                       decide until the provider or the clock has to answer
//	confirmed [refuse=NAME,...] [permanent] [unasked]          the provider delivers all but the refused RRsets;
//	                                                           unasked: without a call of the fence
//	pending [differs]          ... waits for servers; differs: a server has other data
//	failed REASON [permanent] [retry=DURATION] [class]         ... fails, for the whole class;
//	    [times=N every=DURATION]                                   N attempts at this interval
//	compared [missing=NAME,...] [servers=NAME,...]              ... has the zone without the RRsets, at these servers,
//	    [differs=NAME,...|differs]                                  a server with other data in these RRsets or none,
//	    |cannot-list|failed REASON                                  or cannot compare
//	clock DURATION             advance the clock
//	restart [NAME]             restart the worker, or start another
//	state                      print the stored state
func TestStories(t *testing.T) {
	files, err := filepath.Glob("testdata/*.txt")
	if err != nil || len(files) == 0 {
		t.Fatalf("no stories: %v", err)
	}
	for _, file := range files {
		t.Run(strings.TrimSuffix(filepath.Base(file), ".txt"), func(t *testing.T) {
			s := newStory(t)
			datadriven.RunTest(t, file, func(t *testing.T, d *datadriven.TestData) string {
				if d.Cmd == "begin" {
					s = newStory(t)
					return ""
				}
				return s.runCommand(t, d)
			})
		})
	}
}

var present = &deliverytest.Memory{}

func newStory(t *testing.T) *story {
	s := &story{
		Identity: "one", Now: time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC),
		Zone:  delivery.Zone{UID: "z", Classes: []string{"main"}},
		Class: delivery.Class{Name: "main", Target: "here", Provider: present, DriftInterval: time.Hour},
	}
	s.nameZone(t, "example.org.")
	return s
}

func (s *story) nameZone(t *testing.T, fqdn string) {
	s.views = zoneview.NewSet(zoneview.Config{})
	s.source = plan.Source{Views: s.views}
	s.zone = deliverytest.NewZone(t, "z", fqdn, s.views)
	s.zone.PutAddresses(map[string]string{"www": "192.0.2.1", "mail": "192.0.2.2"})
	s.updateView()
}

func (s *story) updateView() { s.Snapshot, _ = s.views.Settled("z") }

func ownerOf(of string) name.Name { return name.MustParse(of + ".example.org.") }

func parseKeys(of string) (keys []delivery.RRsetKey) {
	for _, label := range strings.Split(of, ",") {
		keys = append(keys, delivery.RRsetKey{Name: ownerOf(label), Type: rdata.A})
	}
	return keys
}

func (s *story) runCommand(t *testing.T, d *datadriven.TestData) string {
	arg := func(key string) (value string) {
		if d.HasArg(key) {
			for _, arg := range d.CmdArgs {
				if arg.Key == key && len(arg.Vals) > 0 {
					value = strings.Join(arg.Vals, ",")
				}
			}
		}
		return value
	}
	answer := func(messages []string) string { return strings.Join(messages, "\n") + "; " + s.Wake() + "\n" }
	switch d.Cmd {
	case "zone":
		changes := map[string]string{}
		for _, line := range strings.Split(d.Input, "\n") {
			of, address, _ := strings.Cut(line, " ")
			changes[strings.TrimPrefix(of, "-")] = address
		}
		s.zone.PutAddresses(changes)
		s.updateView()
		return fmt.Sprintf("serial %d\n", s.zone.Serial)
	case "rename":
		s.nameZone(t, d.CmdArgs[0].Key)
	case "desire":
		s.Zone = delivery.Zone{UID: "z", Classes: []string{"main"}, Paused: d.HasArg("paused"), Remove: d.HasArg("withdraw"), Request: arg("request")}
		if d.HasArg("elsewhere") {
			s.Zone.Classes, s.Zone.FormerClasses = []string{"other"}, []string{"main"}
		}
	case "class":
		if target := arg("target"); target != "" {
			s.Class.Target = target
		}
		if servers := arg("servers"); servers != "" {
			s.Class.Servers = strings.Split(servers, ",")
		}
		s.Class.Provider, s.Class.Err = present, nil
		if d.HasArg("broken") {
			s.Class.Provider, s.Class.Err = nil, delivery.Errorf(delivery.ReasonSecretNotFound, "Secret dns/key is not there")
		}
	case "others":
		s.Taken, s.Replaced, s.Awaited, s.Given = d.HasArg("taken"), d.HasArg("replaced"), d.HasArg("awaited"), d.HasArg("given")
	case "view":
		if s.Snapshot = nil; d.HasArg("told") {
			s.updateView()
		}
	case "next":
		return strings.Join(s.Next(), "\n") + "\n"
	case "confirmed":
		var failed []delivery.Failure
		if refuse := arg("refuse"); refuse != "" {
			for _, key := range parseKeys(refuse) {
				e := &delivery.Error{Reason: delivery.ReasonValidationFailed, Message: "not this one", Permanent: d.HasArg("permanent")}
				failed = append(failed, delivery.Failure{Name: key.Name, Type: key.Type, Err: e})
			}
		}
		if d.HasArg("unasked") {
			s.Unasked()
		}
		return answer(s.Confirmed(failed...))
	case "pending":
		var report delivery.Report
		if d.HasArg("differs") {
			report.Servers = s.listDiffering()
		} else if back := arg("back"); back != "" {
			report.Servers = parseServers(t, d, back)
		}
		return answer(s.Answer(report, nil))
	case "failed":
		e := &delivery.Error{Reason: delivery.Reason(d.CmdArgs[0].Key), Message: "as the story says", Permanent: d.HasArg("permanent"), WholeClass: d.HasArg("class")}
		if retry := arg("retry"); retry != "" {
			e.RetryAfter = parseDuration(t, d, retry)
		}
		messages := s.Answer(delivery.Report{}, e)
		for times, _ := strconv.Atoi(arg("times")); times > 1; times-- {
			s.Now = s.Now.Add(parseDuration(t, d, arg("every")))
			s.Next()
			messages = s.Answer(delivery.Report{}, e)
		}
		return answer(messages)
	case "compared":
		var drift delivery.Drift
		var err error
		if missing := arg("missing"); missing != "" {
			for _, key := range parseKeys(missing) {
				drift.Missing = append(drift.Missing, delivery.RRset{Name: key.Name, Type: key.Type})
			}
		}
		if servers := arg("servers"); servers != "" {
			for name := range strings.SplitSeq(servers, ",") {
				drift.Servers = append(drift.Servers, delivery.Server{Name: name, Serial: s.Snapshot.Serial()})
			}
		}
		if back := arg("back"); back != "" {
			drift.Servers = parseServers(t, d, back)
		}
		if d.HasArg("cannot-list") {
			err = delivery.ErrCannotList
		}
		if d.HasArg("differs") {
			drift.Servers = s.listDiffering()
			if differs := arg("differs"); differs != "" {
				for _, key := range parseKeys(differs) {
					drift.Differing = append(drift.Differing, delivery.RRset{Name: key.Name, Type: key.Type})
				}
			}
		}
		if len(d.CmdArgs) > 1 && d.CmdArgs[0].Key == "failed" {
			err = delivery.Errorf(delivery.Reason(d.CmdArgs[1].Key), "as the story says")
		}
		return answer(s.Compared(drift, err))
	case "clock":
		s.Now = s.Now.Add(parseDuration(t, d, d.CmdArgs[0].Key))
	case "restart":
		if len(d.CmdArgs) > 0 {
			s.Identity = d.CmdArgs[0].Key
		}
		s.Restart()
	case "state":
		return describeState(s.Stored)
	default:
		d.Fatalf(t, "unknown command %s", d.Cmd)
	}
	return ""
}

func parseServers(t *testing.T, d *datadriven.TestData, serials string) (servers []delivery.Server) {
	for n, text := range strings.Split(serials, ",") {
		at, err := strconv.ParseUint(text, 10, 32)
		if err != nil {
			d.Fatalf(t, "%v", err)
		}
		servers = append(servers, delivery.Server{Name: fmt.Sprint("ns", n+1), Serial: serial.Serial(at)})
	}
	return servers
}

// listDiffering has a silent server first.
func (s *story) listDiffering() []delivery.Server {
	return []delivery.Server{{Name: "ns1", Err: delivery.Errorf(delivery.ReasonServerUnreachable, "ns1: no answer")},
		{Name: "ns2", Serial: s.Snapshot.Serial(), Content: delivery.ContentDiffers,
			Err: delivery.Errorf(delivery.ReasonContentDiffers, "ns2 has other data")}}
}

func parseDuration(t *testing.T, d *datadriven.TestData, text string) time.Duration {
	of, err := time.ParseDuration(text)
	if err != nil {
		d.Fatalf(t, "%v", err)
	}
	return of
}

func describeState(s delivery.State) string {
	if s.Version == "" {
		return "nothing\n"
	}
	text := fmt.Sprintf("%s serial %d\nReady %s %s: %s\n", s.Zone, s.Serial, s.Ready.Status, s.Ready.Reason, s.Ready.Message)
	if s.Drifted != (delivery.Condition{}) {
		text += fmt.Sprintf("Drifted %s %s: %s\n", s.Drifted.Status, s.Drifted.Reason, s.Drifted.Message)
	}
	if i := s.Intent; i != nil {
		text += fmt.Sprintf("intent from %d to %d", i.From, i.Serial)
		if i.Holder != "" {
			text += " of " + i.Holder
		}
		for _, key := range i.RRsets {
			text += ", " + key.String()
		}
		if i.Unlisted {
			text += ", and more"
		}
		text += "\n"
	}
	return text
}
