// Copyright The Kubizone Authors.
// SPDX-License-Identifier: Apache-2.0

package ledger_test

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/cockroachdb/datadriven"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	kruntime "k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apiserver/pkg/storage"
	"k8s.io/apiserver/pkg/warning"

	"kubi.zone/kubizone/api/kubizone/v1alpha1"
	"kubi.zone/kubizone/test/must"
	"kubi.zone/kubizone/test/store"
)

// TestStories runs testdata/*.txt: writes of several servers on a real etcd, held at named points while others go on.
// fsck checks the store after every command. "go test ./pkg/zone/ledger -run Stories -rewrite" rewrites the output.
// Zones, records and rules are written as in the scenarios of pkg/zone/law. S is a server, W a write beside the story.
// Commands:
//
//	reset S[=zone|facts|all]... [encrypted]      another store with these servers, each with a separate connection and
//	                                             cache; a value omits compares, to show damage
//	zone S NS/NAME [ref=NS/NAME]                 create or replace: the domain name, then a line each: ns HOST [ADDRESS...] |
//	    [new]                                    ttl N | allow PATTERN,... [types=A,...] [shared] [to NS] |
//	                                             zones PATTERN,... [ds] [to NS] | grace DURATION | reverse ZONE... [to NS...] [all];
//	                                             new: creates, though it exists
//	sign S NS/NAME                               status.dnssec.ds: a line each, none without
//	clock S DURATION                             time passes, and the server finds the records that have expired
//	record S NS/NAME [ref=NS/NAME] [wait]        create or replace; in this line or below, a line per value: NAME TYPE RDATA, or
//	    [expires=DURATION] [made]                spec.expiresAt; made: by an update or a challenge
//	                                             + RDATA to add a value
//	delegation S NS/NAME ZONE                    create or replace: lines as in zone, for the namespaces of the first; release NS...
//	delete S record|zone|delegation NS/NAME      annotates a zone with objects of others
//	set S                                        a change set, a write per line: record NS/NAME [ref=NS/NAME] NAME TYPE RDATA |
//	                                             record NS/NAME + RDATA | delete NS/NAME | refused TEXT, refused before the ledger.
//	                                             Lines after "late" come with the command rest W
//	    as=W [hold=POINT]                        (of all above) continues beside the story, held at the point
//	    dry                                      decides, and writes nothing
//	    deaths                                   repeats the story since reset for each point at which the server may die in this write
//	fill S NS PREFIX COUNT [ref=NS/NAME]         COUNT records; the line is as in record, with % for the number
//	hold S POINT; await S                        hold arrivals at the point; wait for an arrival
//	next S                                       release the held, and hold the next
//	release S                                    release the held, hold no more, and show the answers
//	wait W; cancel W                             the answer; the end of the request
//	kill S                                       stop everything, and send nothing more to etcd
//	etcd S full|refuses|deaf|mute|ok             etcd is out of space; the server was told so; the answer to the next write is lost;
//	                                             the next write is lost
//	run S; settle S; carry S                     run works: from now on; until none is pending; once, those in the outbox
//	terminating S NS [no]                        the server hears that a namespace terminates, or not
//	show zone|record|delegation NS/NAME
//	show claims|journal NS/NAME                  of a zone; a line of the journal is a transaction
//	show records [NS]|outbox|damage [grep=TEXT]
//	show lost S                                  transactions with failed compares since the last show
func TestStories(t *testing.T) {
	t.Parallel()
	files, err := filepath.Glob("testdata/*.txt")
	if err != nil || len(files) == 0 {
		t.Fatalf("no stories: %v", err)
	}
	for _, file := range files {
		t.Run(strings.TrimSuffix(filepath.Base(file), ".txt"), func(t *testing.T) {
			t.Parallel()
			w := &world{t: t}
			defer func() { w.endStory(t, file) }()
			datadriven.RunTest(t, file, func(t *testing.T, d *datadriven.TestData) string {
				if d.Cmd == "reset" {
					w.endStory(t, d.Pos)
					w = newWorld(w.t, d)
					return ""
				}
				if w.st == nil {
					d.Fatalf(t, "a story begins with reset")
				}
				return w.describeCommand(t, d)
			})
		})
	}
}

type world struct {
	t        *testing.T // of the file; a command's ends with it
	d        *datadriven.TestData
	st       *store.Store
	now      atomic.Int64
	servers  map[string]*actor
	pending  map[string]*answered
	zones    map[string]bool // namespace and name of each written zone
	reported []datadriven.TestData
	// asksToEstablish means that a standalone zone needs the right to establish (S3.3). Otherwise the right is given.
	asksToEstablish bool
}

type answered struct {
	by     *actor
	cancel context.CancelFunc
	done   chan struct{}
	text   string
	rest   chan struct{} // closed: the late items of a set come
}

func newWorld(t *testing.T, d *datadriven.TestData) *world {
	var change []func(*store.Store)
	for _, x := range d.CmdArgs {
		switch {
		case x.Key == "encrypted":
			change = append(change, store.Encrypted(makeTransformer("story")))
		case len(x.Vals) > 0:
			change = append(change, store.Unchecked)
		}
	}
	w := &world{t: t, st: store.New(t, change...), servers: map[string]*actor{}, pending: map[string]*answered{}, zones: map[string]bool{}, reported: []datadriven.TestData{*d}}
	w.now.Store(time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC).Unix())
	for _, x := range d.CmdArgs {
		if x.Key != "encrypted" {
			w.startActor(x.Key, strings.Join(x.Vals, ""))
		}
	}
	return w
}

// endStory fails the story if answers were not shown or writes are still held.
func (w *world) endStory(t *testing.T, pos string) {
	for name, a := range w.pending {
		if !a.by.gate.isDead() && !t.Failed() {
			t.Errorf("%s: nothing waits for the answer to %s", pos, name)
		}
	}
	for _, a := range w.servers {
		a.killServer()
	}
}

func (w *world) describeCommand(t *testing.T, d *datadriven.TestData) string {
	w.d = d
	w.now.Add(1)
	out := w.runCommand(t, d)
	w.reported = append(w.reported, *d)
	for _, a := range w.servers {
		w.waitForZones(t, a)
	}
	if r := w.st.Fsck(); !r.Clean() && !w.st.Damaged {
		t.Errorf("%s: fsck: %s", d.Pos, store.Text(r))
	}
	return out
}

func (w *world) waitForZones(t *testing.T, a *actor) {
	for at := range w.zones {
		ns, name, _ := strings.Cut(at, "/")
		z := &v1alpha1.Zone{}
		if a.gate.isDead() || a.Zones.Get(a.Ctx, store.Key("zones", ns, name), storage.GetOptions{}, z) != nil || z.Status.FQDN == "" {
			continue
		}
		store.Eventually(t, a.name+" has heard of "+at, func() bool { return a.Ledger.Knows(z.Spec.View, z.Status.FQDN) })
	}
}

func (w *world) runCommand(t *testing.T, d *datadriven.TestData) string {
	arg := func(i int) string {
		if i >= len(d.CmdArgs) {
			d.Fatalf(t, "%s needs more words", d.Cmd)
		}
		return d.CmdArgs[i].Key
	}
	server := func() *actor {
		a := w.servers[arg(0)]
		if a == nil {
			d.Fatalf(t, "no server %s", arg(0))
		}
		return a
	}
	switch d.Cmd {
	case "zone", "sign", "record", "delegation", "delete", "set":
		if d.HasArg("deaths") {
			return w.describeDeaths(t, d)
		}
		a := server()
		if d.Cmd == "set" {
			return w.writeSet(t, d, a)
		}
		return w.beginWrite(t, d, a, nil, w.makeWrite(t, d, a), nil)
	case "fill":
		n, err := strconv.Atoi(arg(3))
		if err != nil {
			d.Fatalf(t, "%v", err)
		}
		a := server()
		for i := range n {
			w.now.Add(1)
			r := w.recordOf(t, d, arg(1), arg(2)+strconv.Itoa(i), strings.ReplaceAll(d.Input, "%", strconv.Itoa(i)))
			if _, err := a.CreateRecord(a.ctx, r); err != nil {
				return describeError(err)
			}
		}
	case "hold":
		server().gate.holdAt(arg(1))
	case "next":
		a := server()
		a.gate.holdAt(a.gate.point)
		return w.waitForHold(t, a, nil, func() bool { return a.stop == nil && w.allAnswered(a) })
	case "release":
		a := server()
		a.gate.holdAt("")
		var out strings.Builder
		for _, name := range slices.Sorted(maps.Keys(w.pending)) {
			if w.pending[name].by == a {
				out.WriteString(name + ": " + w.waitForAnswer(t, name))
			}
		}
		return out.String()
	case "await":
		return w.waitForHold(t, server(), nil, func() bool { return false })
	case "wait":
		return w.waitForAnswer(t, arg(0))
	case "rest":
		a := w.pending[arg(0)]
		close(a.rest)
		return w.waitForHold(t, a.by, a.done, nil)
	case "cancel":
		a := w.pending[arg(0)]
		a.cancel()
	case "kill":
		server().killServer()
	case "etcd":
		server().line.setState(arg(1))
	case "run":
		a := server()
		a.stop = a.Run()
	case "settle":
		w.settleStore(t, server())
	case "clock":
		by, err := time.ParseDuration(arg(1))
		must.Succeed(t, err)
		w.now.Add(int64(by.Seconds()))
		server().Ledger.SweepDue(server().ctx)
	case "carry":
		a := server()
		a.Ledger.ProcessOutbox(a.ctx)
	case "terminating":
		server().known.setTerminating(arg(1), !d.HasArg("no"))
	case "show":
		return w.showObject(t, d)
	default:
		d.Fatalf(t, "no such command: %s", d.Cmd)
	}
	return ""
}

func (w *world) settleStore(t *testing.T, a *actor) {
	stop := a.stop
	if stop == nil {
		stop = a.Run()
		defer stop()
	}
	w.st.T = t
	w.st.Settle()
}

func (w *world) waitForAnswer(t *testing.T, name string) string {
	x := w.pending[name]
	if x == nil {
		w.d.Fatalf(t, "no write %s", name)
	}
	select {
	case <-x.done:
	case <-x.by.gate.ended:
		delete(w.pending, name)
		return noAnswer
	case <-time.After(time.Minute):
		w.d.Fatalf(t, "no answer to %s within a minute", name)
	}
	delete(w.pending, name)
	return x.text
}

const noAnswer = "no answer: its server died\n"

func (w *world) allAnswered(a *actor) bool {
	for _, x := range w.pending {
		select {
		case <-x.done:
		default:
			if x.by == a {
				return false
			}
		}
	}
	return true
}

// beginWrite executes a write and returns the answer. With as=NAME, the write continues beside the story, and
// beginWrite returns as soon as the write is held, queued or answered, or comes is true.
func (w *world) beginWrite(t *testing.T, d *datadriven.TestData, a *actor, rest chan struct{}, write func(context.Context) string,
	comes func() bool) string {
	ctx, cancel := context.WithCancel(a.ctx)
	x := &answered{by: a, cancel: cancel, done: make(chan struct{}), rest: rest, text: noAnswer}
	var name, point string
	if d.MaybeScanArgs(t, "hold", &point); point != "" {
		a.gate.holdAt(point)
	}
	queued := w.countQueued(a)
	go func() {
		defer close(x.done)
		if text := write(ctx); !a.gate.isDead() {
			x.text = text
		}
	}()
	if d.MaybeScanArgs(t, "as", &name); name == "" {
		defer cancel()
		select {
		case <-x.done:
			return x.text
		case <-a.gate.ended:
			return noAnswer
		case <-time.After(time.Minute):
			d.Fatalf(t, "no answer within a minute: where a write is held or waits, it has a name (as=NAME)")
		}
	}
	if w.pending[name] != nil {
		d.Fatalf(t, "%s is under way", name)
	}
	w.pending[name] = x
	return w.waitForHold(t, a, x.done, func() bool { return a.gate.isHolding() && w.countQueued(a) > queued || comes != nil && comes() })
}

func (w *world) countQueued(a *actor) (n int) {
	for at := range w.zones {
		ns, name, _ := strings.Cut(at, "/")
		n += a.Ledger.Waiting(ns, name)
	}
	return n
}

// waitForHold waits until an arrival is held, the write is answered, or more returns true.
func (w *world) waitForHold(t *testing.T, a *actor, done chan struct{}, more func() bool) (out string) {
	store.Eventually(t, w.d.Pos+": something is held, or is answered", func() bool {
		select {
		case <-done:
			out = "answered\n"
			return true
		default:
		}
		if a.gate.hasCome() {
			out = "held at " + a.gate.point + "\n"
			return true
		}
		if more != nil && more() {
			out = "waits\n"
			return true
		}
		return false
	})
	return out
}

// makeWrite returns the write of a command, based on the present state of the store.
func (w *world) makeWrite(t *testing.T, d *datadriven.TestData, a *actor) func(context.Context) string {
	at := d.CmdArgs[1].Key
	if d.Cmd == "delete" {
		at = d.CmdArgs[2].Key
	}
	ns, name, ok := strings.Cut(at, "/")
	if !ok {
		d.Fatalf(t, "%q is no NS/NAME", at)
	}
	there := func(objects storage.Interface, resource string, o kruntime.Object) bool {
		return objects.Get(a.Ctx, store.Key(resource, ns, name), storage.GetOptions{}, o) == nil
	}
	switch d.Cmd {
	case "delete":
		return func(ctx context.Context) string {
			var err error
			switch d.CmdArgs[1].Key {
			case "record":
				err = a.DeleteRecord(ctx, ns, name)
			case "zone":
				if d.HasArg("annotated") {
					if _, err := a.UpdateZone(ns, name, store.AnnotateDeletion); err != nil {
						return describeError(err)
					}
				}
				err = a.TryDeleteZone(ns, name)
			case "delegation":
				err = a.DeleteDelegation(ns, name)
			default:
				err = fmt.Errorf("delete what?")
			}
			if err != nil {
				return describeError(err)
			}
			return "gone\n"
		}
	case "zone":
		z, before := w.zoneOf(t, d, ns, name), &v1alpha1.Zone{}
		w.zones[at] = true
		there := there(a.Zones, "zones", before)
		return func(ctx context.Context) string {
			var err error
			switch {
			case d.HasArg("dry"):
				if !there {
					before = nil
				} else {
					after := before.DeepCopy()
					after.Spec = z.Spec
					after.Generation++
					z = after
				}
				err = a.Ledger.PreviewZone(a.Ledger.WithEstablish(ctx, true), before, z)
			case there && !d.HasArg("new"):
				z, err = a.WriteZone(ctx, ns, name, func(o *v1alpha1.Zone) {
					o.Spec, o.Annotations = z.Spec, z.Annotations
					o.Generation++
				})
			default:
				z, err = w.createZone(a, z, !w.asksToEstablish || d.HasArg("establish"))
			}
			if err != nil {
				return describeError(err)
			}
			return zoneText(z) + "\n"
		}
	case "sign":
		ds := signersOf(t, d)
		return func(ctx context.Context) string {
			z, err := a.WriteZone(ctx, ns, name, func(o *v1alpha1.Zone) {
				o.Status.DNSSEC = &v1alpha1.ZoneDNSSECStatus{FQDN: o.Status.FQDN, DS: ds}
			})
			if err != nil {
				return describeError(err)
			}
			return zoneText(z) + "\n"
		}
	case "delegation":
		if len(d.CmdArgs) < 3 {
			d.Fatalf(t, "a Delegation for which zone?")
		}
		o := w.delegationOf(t, d, ns, name)
		there := there(a.Delegations, "delegations", &v1alpha1.Delegation{})
		return func(context.Context) string {
			var err error
			if there {
				o, err = a.UpdateDelegation(ns, name, func(x *v1alpha1.Delegation) {
					x.Spec, x.Annotations = o.Spec, o.Annotations
				})
			} else {
				o, err = a.CreateDelegation(o)
			}
			if err != nil {
				return describeError(err)
			}
			return delegationText(o) + "\n"
		}
	}
	before := &v1alpha1.Record{}
	if !there(a.Records, "records", before) {
		before = nil
	}
	var words []string
	for _, x := range d.CmdArgs[2:] {
		switch {
		case slices.Contains([]string{"as", "hold", "ref", "dry", "wait", "made", "expires"}, x.Key):
		case len(x.Vals) > 0: // text with =
			words = append(words, x.Key+"="+strings.Join(x.Vals, ","))
		default:
			words = append(words, x.Key)
		}
	}
	input := d.Input
	if len(words) > 0 {
		input = strings.Join(words, " ")
	}
	if beside, ok := strings.CutPrefix(input, "+ "); ok {
		return func(ctx context.Context) string { return answerOf(writeBeside(ctx, a.Server, ns, name, beside)) }
	}
	r := w.recordOf(t, d, ns, name, input)
	if d.HasArg("wait") {
		r.Annotations = map[string]string{v1alpha1.AnnotationOnConflict: v1alpha1.OnConflictWait}
	}
	if d.HasArg("made") {
		r.Labels = map[string]string{v1alpha1.LabelDynamic: "true"}
	}
	var expires string
	if d.MaybeScanArgs(t, "expires", &expires); expires != "" {
		by := must.Get(time.ParseDuration(expires))(t)
		r.Spec.ExpiresAt = &metav1.Time{Time: time.Unix(w.now.Load(), 0).UTC().Add(by)}
	}
	return func(ctx context.Context) string {
		warnings := &warned{}
		ctx = warning.WithWarningRecorder(ctx, warnings)
		o, err := writeRecord(ctx, a.Server, before, r, d.HasArg("dry"))
		out := answerOf(o, err)
		for _, text := range warnings.texts {
			out += "warning: " + text + "\n"
		}
		return out
	}
}

type warned struct {
	mu    sync.Mutex
	texts []string
}

func (w *warned) AddWarning(_, text string) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.texts = append(w.texts, text)
}

func writeBeside(ctx context.Context, s *store.Server, ns, name, value string) (*v1alpha1.Record, error) {
	return s.UpdateRecord(ctx, ns, name, func(o *v1alpha1.Record) { o.Spec.Values = append(o.Spec.Values, value) })
}

func writeRecord(ctx context.Context, s *store.Server, before, r *v1alpha1.Record, dry bool) (*v1alpha1.Record, error) {
	switch {
	case dry && before == nil:
		return r, s.Ledger.PreviewRecord(ctx, nil, r)
	case dry:
		after := before.DeepCopy()
		after.Spec = r.Spec
		after.Generation++
		return after, s.Ledger.PreviewRecord(ctx, before, after)
	case before == nil:
		return s.CreateRecord(ctx, r)
	default:
		return s.UpdateRecord(ctx, r.Namespace, r.Name, func(o *v1alpha1.Record) { o.Spec = r.Spec })
	}
}

// writeSet writes a change set. An item that comes late waits for the command rest.
func (w *world) writeSet(t *testing.T, d *datadriven.TestData, a *actor) string {
	lines, rest := strings.Split(d.Input, "\n"), make(chan struct{})
	set := a.Ledger.NewSet(len(lines))
	set.DryRun = d.HasArg("dry")
	var waits atomic.Bool
	items, texts := make([]setWrite, len(lines)), make([]func(error) string, len(lines))
	for i, text := range lines {
		text, isLate := strings.CutPrefix(text, "late ")
		f := strings.Fields(text)
		if text, ok := strings.CutPrefix(text, "refused "); ok {
			items[i] = func(context.Context, *store.Server) error { return errors.New(text) }
			texts[i] = func(error) string { return text }
			continue
		}
		ns, name, _ := strings.Cut(f[1], "/")
		w.now.Add(1)
		var out *v1alpha1.Record
		texts[i] = func(err error) string { return answerOf(out, err) }
		switch f[0] {
		case "record":
			if beside, ok := strings.CutPrefix(strings.Join(f[2:], " "), "+ "); ok {
				items[i] = func(ctx context.Context, s *store.Server) (err error) {
					out, err = writeBeside(ctx, s, ns, name, beside)
					return err
				}
				break
			}
			before := &v1alpha1.Record{}
			if a.Records.Get(a.Ctx, store.Key("records", ns, name), storage.GetOptions{}, before) != nil {
				before = nil
			}
			var ref *v1alpha1.ZoneReference
			if text, ok := strings.CutPrefix(f[2], "ref="); ok {
				ref, f = refTo(text), f[1:]
			}
			r := w.recordOf(t, d, ns, name, strings.Join(f[2:], " "))
			r.Spec.ZoneRef = ref
			items[i] = func(ctx context.Context, s *store.Server) (err error) {
				out, err = writeRecord(ctx, s, before, r, false)
				return err
			}
		case "delete":
			items[i] = deleteLater(ns, name)
			texts[i] = func(err error) string {
				if err != nil {
					return describeError(err)
				}
				return "gone"
			}
		default:
			d.Fatalf(t, "no such write in a set: %s", text)
		}
		if write := items[i]; isLate {
			items[i] = func(ctx context.Context, s *store.Server) error {
				waits.Store(true)
				select {
				case <-rest:
				case <-ctx.Done():
				}
				return write(ctx, s)
			}
		}
	}
	return w.beginWrite(t, d, a, rest, func(ctx context.Context) string {
		var out strings.Builder
		for i, err := range runSet(ctx, a.Server, set, items) {
			fmt.Fprintf(&out, "%d: %s\n", i+1, strings.TrimSuffix(texts[i](err), "\n"))
		}
		switch zone, serial := set.CommittedZone(); {
		case zone != nil:
			fmt.Fprintf(&out, "committed in %s/%s, serial %d\n", zone.Namespace, zone.Name, serial)
		case serial > 0:
			fmt.Fprintf(&out, "would be serial %d\n", serial)
		default:
			out.WriteString("not committed\n")
		}
		return out.String()
	}, waits.Load)
}

// describeDeaths repeats the story since reset for each point of the write, and lets the server die there. The output
// shows the state then, and the state after another server has run all works.
func (w *world) describeDeaths(t *testing.T, d *datadriven.TestData) string {
	var out strings.Builder
	var messages []string
	for at := 1; ; at++ {
		again := newWorld(w.t, &w.reported[0])
		for i := range w.reported[1:] {
			again.describeCommand(t, &w.reported[1+i])
		}
		again.d = d
		a := again.servers[d.CmdArgs[0].Key]
		a.gate.left = at
		x := *d
		x.CmdArgs = slices.DeleteFunc(slices.Clone(x.CmdArgs), func(c datadriven.CmdArg) bool { return c.Key == "deaths" })
		answer := strings.TrimSuffix(again.runCommand(t, &x), "\n")
		r := again.st.Fsck()
		if !r.Clean() {
			t.Errorf("%s: death %d, at %s: fsck: %s", d.Pos, at, a.gate.died, store.Text(r))
		}
		left := again.describePlaces(t)
		died := a.gate.isDead()
		a.killServer()
		again.startActor("next", "")
		again.settleStore(t, again.servers["next"])
		then := again.describePlaces(t)
		again.servers["next"].killServer()
		if !died {
			fmt.Fprintf(&out, "answered: %s\n", answer)
			return out.String()
		}
		left = fmt.Sprintf("%s; %s; then %s", left, describePending(r.Pending.Total), then)
		if len(messages) > 0 && messages[len(messages)-1] == left {
			left = "the same"
		} else {
			messages = append(messages, left)
		}
		fmt.Fprintf(&out, "%d %s: %s\n", at, a.gate.died, left)
	}
}
