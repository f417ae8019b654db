// Copyright The Kubizone Authors.
// SPDX-License-Identifier: Apache-2.0

package ledger_test

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"net/http"
	"path/filepath"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/cockroachdb/datadriven"
	"go.etcd.io/etcd/api/v3/v3rpc/rpctypes"
	clientv3 "go.etcd.io/etcd/client/v3"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	kruntime "k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apiserver/pkg/storage"
	"k8s.io/apiserver/pkg/warning"

	"kubi.zone/kubizone/pkg/apis/kubizone/v1alpha1"
	"kubi.zone/kubizone/pkg/law"
	"kubi.zone/kubizone/pkg/law/content"
	"kubi.zone/kubizone/pkg/ledger"
	"kubi.zone/kubizone/pkg/ledger/layout"
	"kubi.zone/kubizone/test/store"
)

// TestStories runs testdata/*.txt: writes of several servers on one real etcd, each stopped at a named point of its way while
// others go on. A new case is no Go code. After every command fsck checks the store. "go test ./pkg/ledger -run Stories -rewrite" writes the
// output anew. Zones, records and rules are written as in the scenarios of pkg/law. S is the name of a server, W that of a write that goes on
// beside the story. Commands:
//
//	reset S[=zone|facts|all]... [encrypted]        another store with such servers, each with its own connection and memory. One with a value leaves out
//	                                               compares, as no server does: what such a story shows is damage
//	zone S NS/NAME [ref=NS/NAME] [view=VIEW]       create or replace: the domain name, then a line each: ns HOST [ADDRESS...] | ttl N | percent N |
//	                                               allow PATTERN,... [types=A,...] [shared] [to NS] | zones PATTERN,... [to NS]
//	record S NS/NAME [ref=NS/NAME] [view=VIEW]     create or replace; in this line or below it, a line a value: NAME TYPE RDATA; or + RDATA
//	delegation S NS/NAME ZONE                      create or replace: lines as in zone, for the namespaces of the first
//	delete S record|zone|delegation NS/NAME
//	set S                                          a change set, a write a line: record NS/NAME [ref=NS/NAME] NAME TYPE RDATA or + RDATA | delete NS/NAME |
//	                                               refused TEXT, which is refused on its way; one behind "late" comes with the command rest W
//	    as=W                                       (of all of these) goes on beside the story; hold=POINT also holds it there
//	    dry                                        decides, and writes nothing
//	    new                                        (of zone) creates, though it is there
//	    deaths                                     tells all since reset once for each point at which its server may die in this write
//	fill S NS PREFIX COUNT [ref=NS/NAME]           so many records; the line is as in record, with % for the number
//	hold S POINT; await S                          what comes to the point stays there; wait until something is there
//	next S                                         lets that go, and holds what comes next
//	release S                                      lets that go, holds nothing any more, and tells the answers
//	wait W; cancel W                               the answer; the end of the request
//	kill S                                         nothing of it goes on, and nothing more comes to etcd
//	etcd S full|refuses|deaf|mute|ok               etcd has no space; the server knows that already; the answer to the next write is lost; the next write itself is
//	run S; settle S; carry S                       it carries out what is owed: from now on; until nothing is; once, what is in the outbox
//	terminating S NS [no]                          it has heard that a namespace terminates, or that it does not
//	clock +DURATION
//	show zone|record|delegation|holders|journal NS/NAME; show records|outbox|damage [grep=TEXT]
//	                                               of a journal: a line a transaction
//	show lost S                                    how many of its transactions have failed their compares since that was shown
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
			datadriven.RunTest(t, file, func(t *testing.T, d *datadriven.TestData) string {
				if d.Cmd == "reset" {
					w.end(t, d)
					w = newWorld(w.t, d)
					return ""
				}
				if w.st == nil {
					d.Fatalf(t, "a story begins with reset")
				}
				return w.tell(t, d)
			})
		})
	}
}

// world is what stands since the last reset.
type world struct {
	t       *testing.T // of the file; that of a command ends with it
	d       *datadriven.TestData
	st      *store.Store
	now     atomic.Int64
	servers map[string]*actor
	pending map[string]*answered
	zones   map[string]bool // namespace and name of each that was written
	told    []datadriven.TestData
}

// actor is a server whose writes can be held and that can die.
type actor struct {
	*store.Server
	name  string
	gate  stopper
	line  line
	known namespaces
	ctx   context.Context
	end   context.CancelFunc
	stop  func() // of what it carries out; nil: it does not
	lost  int64  // conflicts that are shown
}

// answered is a write that goes on beside the story.
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
			change = append(change, store.Encrypted(provided("story")))
		case len(x.Vals) > 0:
			change = append(change, store.Unchecked)
		}
	}
	w := &world{t: t, st: store.New(t, change...), servers: map[string]*actor{}, pending: map[string]*answered{}, zones: map[string]bool{}, told: []datadriven.TestData{*d}}
	w.now.Store(time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC).Unix())
	for _, x := range d.CmdArgs {
		if x.Key != "encrypted" {
			w.serve(x.Key, strings.Join(x.Vals, ""))
		}
	}
	return w
}

// end: a story leaves no write that was not waited for, and nothing held.
func (w *world) end(t *testing.T, d *datadriven.TestData) {
	for name, a := range w.pending {
		if !a.by.gate.isDead() {
			t.Errorf("%s: nothing waits for the answer to %s", d.Pos, name)
		}
	}
	for _, a := range w.servers {
		a.die()
	}
}

// tell carries out one command and returns what it shows.
func (w *world) tell(t *testing.T, d *datadriven.TestData) string {
	w.d = d
	w.now.Add(1)
	out := w.command(t, d)
	w.told = append(w.told, *d)
	for _, a := range w.servers {
		w.hears(t, a)
	}
	if r := w.st.Fsck(); !r.Clean() && !w.st.Damaged {
		t.Errorf("%s: fsck: %s", d.Pos, store.Text(r))
	}
	return out
}

// hears waits until the server has heard of all zones that stand.
func (w *world) hears(t *testing.T, a *actor) {
	for at := range w.zones {
		ns, name, _ := strings.Cut(at, "/")
		z := &v1alpha1.Zone{}
		if a.gate.isDead() || a.Zones.Get(a.Ctx, store.Key("zones", ns, name), storage.GetOptions{}, z) != nil || z.Status.FQDN == "" {
			continue
		}
		store.Eventually(t, a.name+" has heard of "+at, func() bool { return a.Ledger.Knows(z.Spec.View, z.Status.FQDN) })
	}
}

func (w *world) command(t *testing.T, d *datadriven.TestData) string {
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
	case "zone", "record", "delegation", "delete", "set":
		if d.HasArg("deaths") {
			return w.deaths(t, d)
		}
		a := server()
		if d.Cmd == "set" {
			return w.set(t, d, a)
		}
		return w.begin(t, d, a, nil, w.write(t, d, a), nil)
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
				return said(err)
			}
		}
	case "hold":
		server().gate.hold(arg(1))
	case "next":
		a := server()
		a.gate.hold(a.gate.point)
		return w.until(t, a, nil, func() bool { return a.stop == nil && w.allAnswered(a) })
	case "release":
		a := server()
		a.gate.hold("")
		var out strings.Builder
		for _, name := range slices.Sorted(maps.Keys(w.pending)) {
			if w.pending[name].by == a {
				out.WriteString(name + ": " + w.answer(t, name))
			}
		}
		return out.String()
	case "await":
		return w.until(t, server(), nil, func() bool { return false })
	case "wait":
		return w.answer(t, arg(0))
	case "rest":
		a := w.pending[arg(0)]
		close(a.rest)
		return w.until(t, a.by, a.done, nil)
	case "cancel":
		a := w.pending[arg(0)]
		a.cancel()
	case "kill":
		server().die()
	case "etcd":
		server().line.set(arg(1))
	case "run":
		a := server()
		a.stop = a.Run()
	case "settle":
		w.settle(t, server())
	case "carry":
		a := server()
		a.Ledger.CarryOut(a.ctx)
	case "terminating":
		server().known.set(arg(1), !d.HasArg("no"))
	case "clock":
		by, err := time.ParseDuration(strings.TrimPrefix(arg(0), "+"))
		if err != nil {
			d.Fatalf(t, "%v", err)
		}
		w.now.Add(int64(by.Seconds()))
	case "show":
		return w.show(t, d)
	default:
		d.Fatalf(t, "no such command: %s", d.Cmd)
	}
	return ""
}

func (w *world) serve(name, drop string) {
	a := &actor{name: name}
	a.gate.ended = make(chan struct{})
	w.st.T = w.t
	a.Server = w.st.Server(a.known.config, ledger.DropGuards(drop), func(c *ledger.Config) {
		c.Now = func() time.Time { return time.Unix(w.now.Load(), 0).UTC() }
		c.Fault = a.gate.pass
		a.line.KV, c.Client.KV = c.Client.KV, &a.line
	})
	a.ctx, a.end = context.WithCancel(a.Ctx)
	w.servers[name] = a
}

func (w *world) settle(t *testing.T, a *actor) {
	stop := a.stop
	if stop == nil {
		stop = a.Run()
		defer stop()
	}
	w.st.T = t
	w.st.Settle()
}

// die ends all that the server does, whatever that is waiting for.
func (a *actor) die() {
	a.line.set("mute for ever")
	a.gate.kill()
	a.end()
	if a.stop != nil {
		a.stop()
		a.stop = nil
	}
}

// answer waits for the answer to a write.
func (w *world) answer(t *testing.T, name string) string {
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

// begin makes a write and returns its answer. With as=NAME the write goes on beside the story, and begin returns when it is held, waits behind
// others, is answered, or when comes is true.
func (w *world) begin(t *testing.T, d *datadriven.TestData, a *actor, rest chan struct{}, write func(context.Context) string, comes func() bool) string {
	ctx, cancel := context.WithCancel(a.ctx)
	x := &answered{by: a, cancel: cancel, done: make(chan struct{}), rest: rest, text: noAnswer}
	var name, point string
	if d.MaybeScanArgs(t, "hold", &point); point != "" {
		a.gate.hold(point)
	}
	queued := w.queued(a)
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
	return w.until(t, a, x.done, func() bool { return a.gate.holds() && w.queued(a) > queued || comes != nil && comes() })
}

// queued is how many writes wait at the zones of the story.
func (w *world) queued(a *actor) (n int) {
	for at := range w.zones {
		ns, name, _ := strings.Cut(at, "/")
		n += a.Ledger.Waiting(ns, name)
	}
	return n
}

// until waits for the first of: something is held, the write is answered, more.
func (w *world) until(t *testing.T, a *actor, done chan struct{}, more func() bool) (out string) {
	store.Eventually(t, w.d.Pos+": something is held, or is answered", func() bool {
		select {
		case <-done:
			out = "answered\n"
			return true
		default:
		}
		if a.gate.takes() {
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

// stopper is the fault function of a server: it holds what comes to one point, or ends what comes to any once the server is dead.
type stopper struct {
	mu    sync.Mutex
	point string
	stays int // how many it holds
	here  int // those of them that were not told of
	open  chan struct{}
	dead  bool
	ended chan struct{} // closed when it is dead
	left  int           // points until it dies by itself; 0: it does not
	died  string        // at which point
}

func (g *stopper) pass(point string) {
	g.mu.Lock()
	if g.left > 0 {
		if g.left--; g.left == 0 {
			g.died = point
			g.endLocked()
		}
	}
	open := g.open
	if point != g.point || g.dead {
		open = nil
	} else {
		g.stays, g.here = g.stays+1, g.here+1
	}
	g.mu.Unlock()
	if open != nil {
		<-open
	}
	if g.isDead() {
		runtime.Goexit()
	}
}

func (g *stopper) hold(point string) {
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.open != nil {
		close(g.open)
	}
	g.point, g.open, g.stays, g.here = point, make(chan struct{}), 0, 0
}

// takes: something has come to the point since it was asked last.
func (g *stopper) takes() bool {
	g.mu.Lock()
	defer g.mu.Unlock()
	came := g.here > 0
	g.here = 0
	return came
}

// holds: something stays at the point, so that what waits behind it does.
func (g *stopper) holds() bool {
	g.mu.Lock()
	defer g.mu.Unlock()
	return g.stays > 0
}

func (g *stopper) kill() {
	g.mu.Lock()
	g.endLocked()
	g.mu.Unlock()
	g.hold("")
}

func (g *stopper) endLocked() {
	if !g.dead {
		g.dead = true
		close(g.ended)
	}
}

func (g *stopper) isDead() bool {
	g.mu.Lock()
	defer g.mu.Unlock()
	return g.dead
}

// line is a server's connection to etcd, as it concerns transactions that write.
type line struct {
	clientv3.KV
	state atomic.Value
}

func (l *line) set(state string) { l.state.Store(state) }

func (l *line) Txn(ctx context.Context) clientv3.Txn { return lineTxn{l.KV.Txn(ctx), l, false} }

type lineTxn struct {
	clientv3.Txn
	l      *line
	writes bool
}

func (t lineTxn) If(cs ...clientv3.Cmp) clientv3.Txn { return lineTxn{t.Txn.If(cs...), t.l, t.writes} }
func (t lineTxn) Then(ops ...clientv3.Op) clientv3.Txn {
	writes := slices.ContainsFunc(ops, func(op clientv3.Op) bool { return op.IsPut() || op.IsDelete() })
	return lineTxn{t.Txn.Then(ops...), t.l, writes}
}
func (t lineTxn) Else(ops ...clientv3.Op) clientv3.Txn {
	return lineTxn{t.Txn.Else(ops...), t.l, t.writes}
}

func (t lineTxn) Commit() (*clientv3.TxnResponse, error) {
	state, _ := t.l.state.Load().(string)
	if t.writes {
		switch state {
		case "full":
			return nil, rpctypes.ErrNoSpace
		case "refuses":
			return nil, &apierrors.StatusError{ErrStatus: metav1.Status{Status: metav1.StatusFailure, Code: http.StatusInsufficientStorage, Reason: "InsufficientStorage", Message: "nothing was written"}}
		case "mute for ever":
			return nil, rpctypes.ErrTimeout
		case "mute":
			t.l.set("ok")
			return nil, rpctypes.ErrTimeout
		case "deaf":
			t.l.set("ok")
			_, _ = t.Txn.Commit()
			return nil, rpctypes.ErrTimeout
		}
	}
	return t.Txn.Commit()
}

// write is what the command writes, by the state of the store when the command came.
func (w *world) write(t *testing.T, d *datadriven.TestData, a *actor) func(context.Context) string {
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
				err = a.DeleteZone(ns, name)
			case "delegation":
				err = a.DeleteDelegation(ns, name)
			default:
				err = fmt.Errorf("delete what?")
			}
			if err != nil {
				return said(err)
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
				z, err = a.WriteZone(ctx, ns, name, func(o *v1alpha1.Zone) { o.Spec = z.Spec; o.Generation++ })
			default:
				z, err = a.CreateZone(z)
			}
			if err != nil {
				return said(err)
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
				o, err = a.UpdateDelegation(ns, name, func(x *v1alpha1.Delegation) { x.Spec = o.Spec })
			} else {
				o, err = a.CreateDelegation(o)
			}
			if err != nil {
				return said(err)
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
		case slices.Contains([]string{"as", "hold", "ref", "view", "dry"}, x.Key):
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
		return func(ctx context.Context) string { return answerOf(writeBeside(ctx, a, ns, name, beside)) }
	}
	r := w.recordOf(t, d, ns, name, input)
	return func(ctx context.Context) string {
		warnings := &warned{}
		ctx = warning.WithWarningRecorder(ctx, warnings)
		o, err := writeRecord(ctx, a, before, r, d.HasArg("dry"))
		out := answerOf(o, err)
		for _, text := range warnings.texts {
			out += "warning: " + text + "\n"
		}
		return out
	}
}

// warned collects the warnings of a request.
type warned struct {
	mu    sync.Mutex
	texts []string
}

func (w *warned) AddWarning(_, text string) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.texts = append(w.texts, text)
}

func writeBeside(ctx context.Context, a *actor, ns, name, value string) (*v1alpha1.Record, error) {
	return a.UpdateRecord(ctx, ns, name, func(o *v1alpha1.Record) { o.Spec.Values = append(o.Spec.Values, value) })
}

func writeRecord(ctx context.Context, a *actor, before, r *v1alpha1.Record, dry bool) (*v1alpha1.Record, error) {
	switch {
	case dry && before == nil:
		return r, a.Ledger.PreviewRecord(ctx, nil, r)
	case dry:
		after := before.DeepCopy()
		after.Spec = r.Spec
		after.Generation++
		return after, a.Ledger.PreviewRecord(ctx, before, after)
	case before == nil:
		return a.CreateRecord(ctx, r)
	default:
		return a.UpdateRecord(ctx, r.Namespace, r.Name, func(o *v1alpha1.Record) { o.Spec = r.Spec })
	}
}

// set makes the writes of a change set.
func (w *world) set(t *testing.T, d *datadriven.TestData, a *actor) string {
	lines, rest := strings.Split(d.Input, "\n"), make(chan struct{})
	set := a.Ledger.NewSet(len(lines))
	items := make([]func(context.Context) string, len(lines))
	refused, lates := make([]bool, len(lines)), make([]bool, len(lines))
	for i, text := range lines {
		text, lates[i] = strings.CutPrefix(text, "late ")
		f := strings.Fields(text)
		if text, ok := strings.CutPrefix(text, "refused "); ok {
			items[i] = func(context.Context) string { refused[i] = true; return text }
			continue
		}
		ns, name, _ := strings.Cut(f[1], "/")
		w.now.Add(1)
		switch f[0] {
		case "record":
			if beside, ok := strings.CutPrefix(strings.Join(f[2:], " "), "+ "); ok {
				items[i] = func(ctx context.Context) string {
					o, err := writeBeside(ctx, a, ns, name, beside)
					refused[i] = err != nil
					return answerOf(o, err)
				}
				continue
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
			items[i] = func(ctx context.Context) string {
				o, err := writeRecord(ctx, a, before, r, d.HasArg("dry"))
				refused[i] = err != nil
				return answerOf(o, err)
			}
		case "delete":
			items[i] = func(ctx context.Context) string {
				err := a.DeleteRecord(ctx, ns, name)
				if refused[i] = err != nil; refused[i] {
					return said(err)
				}
				return "gone\n"
			}
		default:
			d.Fatalf(t, "no such write in a set: %s", text)
		}
	}
	comes := func() bool {
		for i, late := range lates {
			if !late && !set.Came(i) {
				return false
			}
		}
		return slices.Contains(lates, true)
	}
	return w.begin(t, d, a, rest, func(ctx context.Context) string {
		texts := make([]string, len(items))
		parallel(len(items), func(i int) {
			defer func() { set.Leave(i, refused[i]) }()
			if lates[i] {
				select {
				case <-rest:
				case <-ctx.Done():
					refused[i], texts[i] = true, said(ctx.Err())
					return
				}
			}
			texts[i] = items[i](set.Context(ctx, i))
		})
		for i := range texts {
			texts[i] = fmt.Sprintf("%d: %s\n", i+1, strings.TrimSuffix(texts[i], "\n"))
		}
		last := fmt.Sprintf("not committed, %d creations\n", set.Creates())
		if zone, serial := set.Committed(); zone != nil {
			last = fmt.Sprintf("committed in %s/%s, serial %d\n", zone.Namespace, zone.Name, serial)
		} else if serial > 0 {
			last = fmt.Sprintf("would be serial %d\n", serial)
		}
		return strings.Join(texts, "") + last
	}, comes)
}

// deaths tells the story since reset once more for each point that the write passes, with its server dying there, and what stands then and when
// another server has carried out what is owed.
func (w *world) deaths(t *testing.T, d *datadriven.TestData) string {
	var out strings.Builder
	var said []string
	for at := 1; ; at++ {
		again := newWorld(w.t, &w.told[0])
		for i := range w.told[1:] {
			again.tell(t, &w.told[1+i])
		}
		again.d = d
		a := again.servers[d.CmdArgs[0].Key]
		a.gate.left = at
		x := *d
		x.CmdArgs = slices.DeleteFunc(slices.Clone(x.CmdArgs), func(c datadriven.CmdArg) bool { return c.Key == "deaths" })
		answer := strings.TrimSuffix(again.command(t, &x), "\n")
		r := again.st.Fsck()
		if !r.Clean() {
			t.Errorf("%s: death %d, at %s: fsck: %s", d.Pos, at, a.gate.died, store.Text(r))
		}
		left := again.where(t)
		died := a.gate.isDead()
		a.die()
		again.serve("next", "")
		again.settle(t, again.servers["next"])
		then := again.where(t)
		again.servers["next"].die()
		if !died {
			fmt.Fprintf(&out, "answered: %s\n", answer)
			return out.String()
		}
		if left = fmt.Sprintf("%s; %s; then %s", left, owes(r.Owed.Total), then); len(said) > 0 && said[len(said)-1] == left {
			left = "the same"
		} else {
			said = append(said, left)
		}
		fmt.Fprintf(&out, "%d %s: %s\n", at, a.gate.died, left)
	}
}

func owes(n int) string {
	if n == 0 {
		return "nothing owed"
	}
	return fmt.Sprintf("%d owed", n)
}

// where is in which zone each record is, and how many entries each zone has.
func (w *world) where(t *testing.T) string {
	for _, a := range w.servers {
		var texts []string
		for _, r := range a.ListRecords("") {
			zone := "no zone (" + reasonOf(&r) + ")"
			if r.Status.ZoneRef != nil {
				zone = r.Status.ZoneRef.Name
			}
			texts = append(texts, fmt.Sprintf("%s in %s", r.Name, zone))
		}
		for _, at := range slices.Sorted(maps.Keys(w.zones)) {
			ns, name, _ := strings.Cut(at, "/")
			if z := (&v1alpha1.Zone{}); a.Zones.Get(a.Ctx, store.Key("zones", ns, name), storage.GetOptions{}, z) == nil {
				texts = append(texts, fmt.Sprintf("%s %d", name, z.Status.EntryCount))
			}
		}
		return strings.Join(texts, ", ")
	}
	t.Fatal("no server")
	return ""
}

// said is an error as a client is told.
func said(err error) string {
	var status apierrors.APIStatus
	switch {
	case errors.As(err, &status):
		s := status.Status()
		return fmt.Sprintf("%d %s: %s\n", s.Code, s.Reason, s.Message)
	case storage.IsExist(err):
		return "409 AlreadyExists\n"
	case storage.IsNotFound(err):
		return "404 NotFound\n"
	case storage.IsConflict(err):
		return "409 Conflict\n"
	}
	return fmt.Sprintf("error: %v\n", err)
}

func answerOf(r *v1alpha1.Record, err error) string {
	if err != nil {
		return said(err)
	}
	return recordText(r) + "\n"
}

func recordText(r *v1alpha1.Record) string {
	if ref := r.Status.ZoneRef; ref != nil {
		return fmt.Sprintf("%s in %s/%s, serial %d", r.Status.FQDN, ref.Namespace, ref.Name, r.Status.Serial)
	}
	text := "in no zone"
	if c := meta.FindStatusCondition(r.Status.Conditions, v1alpha1.ConditionAdopted); c != nil {
		text += ": " + c.Reason + ": " + c.Message
	}
	return text
}

func zoneText(z *v1alpha1.Zone) string {
	if z.Status.FQDN == "" {
		text := "pending"
		if c := meta.FindStatusCondition(z.Status.Conditions, v1alpha1.ConditionDelegated); c != nil {
			text += ": " + c.Reason + ": " + c.Message
		}
		return text
	}
	text := fmt.Sprintf("%s serial %d, %d entries", z.Status.FQDN, z.Status.Serial, z.Status.EntryCount)
	switch z.Status.SettledSerial {
	case z.Status.Serial:
	case 0:
		text += ", not settled"
	default:
		text += fmt.Sprintf(", serial %d is delivered", z.Status.SettledSerial)
	}
	return text
}

func delegationText(d *v1alpha1.Delegation) string {
	text := accepted(d)
	if ref := d.Status.ZoneRef; ref != nil {
		text += " by " + ref.Name
	}
	return text
}

// earlier says where the zone of that name is another one.
func (w *world) earlier(s *actor, ref *v1alpha1.AdoptingZone) string {
	if ref == nil {
		return ""
	}
	z := &v1alpha1.Zone{}
	if s.Zones.Get(s.Ctx, store.Key("zones", ref.Namespace, ref.Name), storage.GetOptions{}, z) == nil && z.UID == ref.UID {
		return ""
	}
	return ", which is gone"
}

func (w *world) objectMeta(o *metav1.ObjectMeta) {
	o.CreationTimestamp = metav1.NewTime(time.Unix(w.now.Load(), 0).UTC())
}

func (w *world) ref(t *testing.T, d *datadriven.TestData) *v1alpha1.ZoneReference {
	var text string
	if d.MaybeScanArgs(t, "ref", &text); text == "" {
		return nil
	}
	return refTo(text)
}

func refTo(text string) *v1alpha1.ZoneReference {
	ns, name, _ := strings.Cut(text, "/")
	return &v1alpha1.ZoneReference{Namespace: ns, Name: name}
}

func (w *world) zoneOf(t *testing.T, d *datadriven.TestData, ns, name string) *v1alpha1.Zone {
	lines := strings.Split(d.Input, "\n")
	z := store.Zone(ns, name, lines[0])
	w.objectMeta(&z.ObjectMeta)
	z.Spec.ZoneRef = w.ref(t, d)
	d.MaybeScanArgs(t, "view", &z.Spec.View)
	hosts := 0
	for _, text := range lines[1:] {
		switch f := strings.Fields(text); f[0] {
		case "ns":
			if hosts++; hosts == 1 {
				z.Spec.NameServers = nil
			}
			z.Spec.NameServers = append(z.Spec.NameServers, v1alpha1.NameServer{Name: f[1], Addresses: f[2:]})
		case "ttl":
			ttl, err := strconv.ParseInt(f[1], 10, 32)
			if err != nil {
				d.Fatalf(t, "%v", err)
			}
			z.Spec.TTL = new(int32(ttl))
		case "percent":
			percent, err := strconv.ParseInt(f[1], 10, 32)
			if err != nil {
				d.Fatalf(t, "%v", err)
			}
			z.Spec.Limits.MaxDeletePercent = new(int32(percent))
		case "allow", "zones":
			z.Spec.Delegations = append(z.Spec.Delegations, ruleOf(t, d, f))
		default:
			d.Fatalf(t, "no such line in a zone: %s", text)
		}
	}
	return z
}

func ruleOf(t *testing.T, d *datadriven.TestData, f []string) (rule v1alpha1.DelegationRule) {
	var types []string
	shared := false
	for i, word := range f[2:] {
		if word == "to" {
			rule.Namespace = f[2+i+1]
			break
		}
		if word == "shared" {
			shared = true
		} else if list, ok := strings.CutPrefix(word, "types="); ok {
			types = strings.Split(list, ",")
		} else {
			d.Fatalf(t, "no such word in a rule: %s", word)
		}
	}
	for _, pattern := range strings.Split(f[1], ",") {
		if f[0] == "zones" {
			rule.Zones = append(rule.Zones, pattern)
		} else {
			rule.Records = append(rule.Records, v1alpha1.RecordDelegation{Pattern: pattern, Types: types, Shared: shared})
		}
	}
	return rule
}

func (w *world) delegationOf(t *testing.T, d *datadriven.TestData, ns, name string) *v1alpha1.Delegation {
	o := store.Delegation(ns, name, d.CmdArgs[2].Key, nil)
	w.objectMeta(&o.ObjectMeta)
	for _, text := range strings.Split(d.Input, "\n") {
		f := strings.Fields(text)
		if to := slices.Index(f, "to"); to > 0 && o.Spec.Namespaces == nil {
			o.Spec.Namespaces = f[to+1:]
		}
		r := ruleOf(t, d, f)
		o.Spec.Records, o.Spec.Zones = append(o.Spec.Records, r.Records...), append(o.Spec.Zones, r.Zones...)
	}
	return o
}

func (w *world) recordOf(t *testing.T, d *datadriven.TestData, ns, name, input string) *v1alpha1.Record {
	var r *v1alpha1.Record
	for _, text := range strings.Split(input, "\n") {
		f := strings.Fields(text)
		if len(f) < 3 {
			d.Fatalf(t, "%q is no NAME TYPE RDATA", text)
		}
		if r == nil {
			r = store.Record(ns, name, f[0], f[1])
		}
		r.Spec.Values = append(r.Spec.Values, strings.Join(f[2:], " "))
	}
	w.objectMeta(&r.ObjectMeta)
	r.Spec.ZoneRef = w.ref(t, d)
	d.MaybeScanArgs(t, "view", &r.Spec.View)
	return r
}

func (w *world) show(t *testing.T, d *datadriven.TestData) string {
	var lines []string
	say := func(format string, args ...any) { lines = append(lines, fmt.Sprintf(format, args...)) }
	var s *actor
	for _, a := range w.servers {
		s = a
	}
	what, ns, name := d.CmdArgs[0].Key, "", ""
	if len(d.CmdArgs) > 1 && len(d.CmdArgs[1].Vals) == 0 {
		ns, name, _ = strings.Cut(d.CmdArgs[1].Key, "/")
	}
	uid := func() string { return string(s.Zone(ns, name).UID) }
	keys := layout.Keys{Prefix: w.st.Prefix}
	stored := func(room string, into func(key string, value []byte) error) {
		for _, kv := range store.Must(w.st.Client.Client.Get(s.Ctx, room, clientv3.WithPrefix(), clientv3.WithSort(clientv3.SortByCreateRevision, clientv3.SortAscend))).Kvs {
			if err := into(strings.TrimPrefix(string(kv.Key), room), kv.Value); err != nil {
				d.Fatalf(t, "%s: %v", kv.Key, err)
			}
		}
	}
	switch what {
	case "zone":
		z := &v1alpha1.Zone{}
		if err := s.Zones.Get(s.Ctx, store.Key("zones", ns, name), storage.GetOptions{}, z); err == nil {
			say("%s", zoneText(z))
		}
	case "record":
		r := &v1alpha1.Record{}
		if err := s.Records.Get(s.Ctx, store.Key("records", ns, name), storage.GetOptions{}, r); err == nil {
			say("%s%s", recordText(r), w.earlier(s, r.Status.ZoneRef))
		}
	case "records":
		for _, r := range s.ListRecords(ns) {
			say("%s/%s %s %s: %s", r.Namespace, r.Name, r.Spec.Type, strings.Join(r.Spec.Values, ", "), recordText(&r))
		}
	case "delegation":
		o := s.Delegation(ns, name)
		say("%s%s", delegationText(o), w.earlier(s, o.Status.ZoneRef))
	case "holders":
		stored(keys.Room("holders")+uid()+"/", func(key string, value []byte) error {
			var h law.Holders
			err := layout.Decode(value, &h)
			text := ""
			for _, x := range h.List {
				text += fmt.Sprintf(" %s(%d)", x.Namespace, x.Count)
			}
			say("%s:%s", key, text)
			return err
		})
		slices.Sort(lines)
	case "journal":
		stored(keys.Journal(uid()), func(key string, value []byte) error {
			var tx content.Transaction
			err := layout.Decode(value, &tx)
			var steps []string
			switch {
			case tx.Gone:
				steps = append(steps, "gone")
			case len(tx.Steps) == 0 && tx.Settled:
				steps = append(steps, "settled")
			case len(tx.Steps) == 0:
				steps = append(steps, "not settled")
			}
			for _, step := range tx.Steps {
				text := fmt.Sprint(step.Serial)
				if step.HeaderAfter != nil {
					text += " header"
				}
				for _, r := range step.Removed {
					text += fmt.Sprintf(" -%s %s %s", r.Owner, r.Type, r.Data)
				}
				for _, r := range step.Added {
					text += fmt.Sprintf(" +%s %s %s", r.Owner, r.Type, r.Data)
				}
				steps = append(steps, text)
			}
			say("%s", strings.Join(steps, "; "))
			return err
		})
	case "outbox":
		stored(keys.Room("outbox"), func(_ string, value []byte) error {
			var work law.Work
			err := layout.Decode(value, &work)
			say("%s", work.Reason)
			return err
		})
		stored(keys.Room("debts"), func(_ string, value []byte) error {
			var cut law.Debt
			err := layout.Decode(value, &cut)
			say("%s/%s counts its child %s/%s", cut.Parent.Namespace, cut.Parent.Name, cut.Child.Namespace, cut.Child.Name)
			return err
		})
	case "damage":
		for _, f := range w.st.Fsck().Damage.List {
			say("%s", f.Rule)
		}
		slices.Sort(lines)
		lines = slices.Compact(lines)
	case "lost":
		a := w.servers[ns]
		now := a.Ledger.Stats().Conflicts.Load()
		say("%d", now-a.lost)
		a.lost = now
	default:
		d.Fatalf(t, "show what?")
	}
	var grep string
	d.MaybeScanArgs(t, "grep", &grep)
	lines = slices.DeleteFunc(lines, func(line string) bool { return !strings.Contains(line, grep) })
	if len(lines) == 0 {
		return "none\n"
	}
	return strings.Join(lines, "\n") + "\n"
}
