// Copyright The Kubizone Authors.
// SPDX-License-Identifier: Apache-2.0

package externaldns

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"time"

	"kubi.zone/kubizone/cmd/webhook-server/server"
	"kubi.zone/kubizone/pkg/delivery/webhook/protocol"
	"kubi.zone/kubizone/pkg/dns/name"
	"kubi.zone/kubizone/pkg/dns/rdata"
)

// Config of a Backend.
type Config struct {
	// URL of the provider, http or https.
	URL string
	// Types are those that the provider writes and lists; nil: ListedTypes.
	Types []rdata.Type
	// PlainText: the provider has the text of a TXT as it is, as that of Azure, and not in the quotes of a zone file.
	PlainText bool
	// Logger logs what a provider changes in what it is sent; nil: it is not logged.
	Logger *slog.Logger
	// Now is the clock; nil: the system's.
	Now func() time.Time
}

// Backend is a server.Backend.
type Backend struct {
	config Config
	base   *url.URL
	client *http.Client
	// turn is held by what asks the provider and of what follows. Health goes without.
	turn     chan struct{}
	list     listing // nil: it is not known
	listedAt time.Time
	kept     map[rrsetKey]kept
}

// kept is an RRset that a provider has in words of its own: came is what it lists for asked.
type kept struct {
	asked protocol.RRset
	came  standing
}

var _ server.Backend = (*Backend)(nil)

const (
	// listLife is how long a listing counts. It is of the whole account.
	listLife = 5 * time.Second
	// maxLost is how many RRsets are sent singly while none is taken.
	maxLost = 3
)

// New makes a Backend and connects to nothing.
func New(config Config) (*Backend, error) {
	base, err := url.Parse(config.URL)
	if err != nil || base.Scheme != "http" && base.Scheme != "https" || base.Host == "" || base.RawQuery != "" || base.Fragment != "" {
		return nil, fmt.Errorf("%q: must be the URL of a webhook provider, such as http://127.0.0.1:8888", config.URL)
	}
	for _, t := range config.Types {
		if !slices.Contains(types, t) {
			return nil, fmt.Errorf("external-dns has no form for %s", t)
		}
	}
	if config.Types == nil {
		config.Types = ListedTypes
	}
	if config.Logger == nil {
		config.Logger = slog.New(slog.DiscardHandler)
	}
	if config.Now == nil {
		config.Now = time.Now
	}
	return &Backend{
		config: config, base: base, turn: make(chan struct{}, 1), kept: map[rrsetKey]kept{},
		client: &http.Client{
			Transport:     &http.Transport{DisableCompression: true, IdleConnTimeout: time.Minute},
			CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
		},
	}, nil
}

// takeTurn waits until nothing else is asked.
func (b *Backend) takeTurn(ctx context.Context) error {
	select {
	case b.turn <- struct{}{}:
		return nil
	case <-ctx.Done():
		return fmt.Errorf("external-dns provider: others are asked before this: %w", ctx.Err())
	}
}

func (b *Backend) endTurn() { <-b.turn }

// listRecords is what the provider has, or had a moment ago.
func (b *Backend) listRecords(ctx context.Context) (listing, error) {
	if b.list != nil && b.config.Now().Sub(b.listedAt) < listLife {
		return b.list, nil
	}
	at := b.config.Now()
	body, _, err := b.callProvider(ctx, http.MethodGet, "records", nil, http.StatusOK)
	if err == nil {
		b.list, err = parseListing(body, b.config.PlainText)
		b.listedAt = at
	}
	return b.list, err
}

// task is an RRset to be written, and where its result goes.
type task struct {
	at   int
	key  rrsetKey
	set  protocol.RRset
	wish endpoint // zero to remove it
}

// round is one Apply.
type round struct {
	zone    name.Name
	results []error
	// taken counts RRsets that the provider has as they were asked for.
	taken int
	lost  []loss
	// stopped: the provider wants no more for now.
	stopped error
}

// loss is an RRset that was sent alone in vain; err is nil where the provider answered with success.
type loss struct {
	task
	err error
}

// Apply writes what differs in one request, and looks whether it is there. What is not is written in smaller parts, at
// the end singly. What comes twice is done as it comes last, and at a name it removes first.
func (b *Backend) Apply(ctx context.Context, zone name.Name, sets []protocol.RRset) []error {
	r := &round{zone: zone, results: make([]error, len(sets))}
	last, written := map[rrsetKey]int{}, map[name.Name]bool{}
	for at, set := range sets {
		last[keyOf(set)] = at
		written[set.Name] = written[set.Name] || len(set.Data) > 0
	}
	var removed, rest []task
	for at, set := range sets {
		t := task{at: at, key: keyOf(set), set: set}
		switch removes := len(set.Data) == 0; {
		case last[t.key] != at:
			continue
		case removes && b.checkForm(set) != nil:
			continue // It was never written.
		case removes && written[set.Name]:
			removed = append(removed, t)
			continue
		case removes:
		default:
			if r.results[at] = b.checkForm(set); r.results[at] != nil {
				continue
			}
			if t.wish, r.results[at] = endpointOf(set, b.config.PlainText); r.results[at] != nil {
				continue
			}
		}
		rest = append(rest, t)
	}
	if err := b.takeTurn(ctx); err != nil {
		r.fail(removed, err)
		r.fail(rest, err)
	} else {
		b.writeTasks(ctx, r, removed)
		b.writeTasks(ctx, r, rest)
		b.endTurn()
	}
	for _, l := range r.lost {
		r.results[l.at] = r.explainLoss(l)
	}
	for at, set := range sets {
		r.results[at] = r.results[last[keyOf(set)]]
	}
	return r.results
}

func keyOf(set protocol.RRset) rrsetKey { return rrsetKey{set.Name, set.Type} }

// checkForm refuses what external-dns has no form for, and what is the provider's own.
func (b *Backend) checkForm(set protocol.RRset) error {
	switch {
	case !slices.Contains(types, set.Type):
		return protocol.Refuse(protocol.CodeInvalidRecord, "external-dns has no form for %s", set.Type)
	case !slices.Contains(b.config.Types, set.Type):
		return protocol.Refuse(protocol.CodeInvalidRecord, "%s is not among --external-dns-types: "+
			"what a provider writes and does not list can be neither confirmed nor removed", set.Type)
	case set.Type == rdata.NS && set.Name == set.Zone:
		return protocol.Refuse(protocol.CodeInvalidRecord, "the provider has name servers of its own for a zone; "+
			"set apexNS: Skip in the class")
	}
	return nil
}

func (r *round) fail(tasks []task, err error) {
	for _, t := range tasks {
		r.results[t.at] = err
	}
}

// writeTasks writes tasks together, and those that the provider does not have then in parts.
func (b *Backend) writeTasks(ctx context.Context, r *round, tasks []task) {
	switch {
	case len(tasks) == 0:
		return
	case r.stopped != nil:
		r.fail(tasks, r.stopped)
		return
	case ctx.Err() != nil:
		r.fail(tasks, fmt.Errorf("external-dns provider: not done in time: %w", ctx.Err()))
		return
	case r.taken == 0 && len(r.lost) >= maxLost:
		for _, t := range tasks {
			r.lost = append(r.lost, loss{t, r.lost[len(r.lost)-1].err})
		}
		return
	}
	list, err := b.listRecords(ctx)
	if err != nil {
		r.fail(tasks, err)
		return
	}
	var pending []task
	for _, t := range tasks {
		s := list[t.key]
		switch {
		case s.foreign != "" && len(t.set.Data) == 0:
			r.results[t.at] = protocol.Refuse(protocol.CodeRecordNotFound, "%s %s stays: %s", t.key.owner, t.key.t, s.foreign)
		case s.foreign != "":
			r.results[t.at] = beForeign(t.key, s)
		case b.isThere(t, s, true):
			r.noteTaken(t)
		default:
			pending = append(pending, t)
		}
	}
	pending, written := b.writeChanges(ctx, r, list, pending)
	if len(pending) == 0 {
		return
	}
	b.list = nil
	if list, err = b.listRecords(ctx); err != nil {
		r.fail(pending, err)
		return
	}
	var left []task
	for _, t := range pending {
		// A TTL that a provider has otherwise it has changed itself, if it has taken the request.
		if s := list[t.key]; b.isThere(t, s, written != nil) {
			r.noteTaken(t)
		} else {
			left = append(left, t)
		}
	}
	switch {
	case len(left) == 0:
	case errors.As(written, new(*protocol.Error)):
		r.stopped = written
		r.fail(left, written)
	case len(pending) == 1:
		if beside := findBeside(list, left[0]); beside != nil {
			written = beside
		}
		r.lost = append(r.lost, loss{left[0], written})
	case written != nil && len(left) > 1:
		// One of them may be what the provider fails at.
		b.writeTasks(ctx, r, left[:len(left)/2])
		b.writeTasks(ctx, r, left[len(left)/2:])
	default:
		for at := range left {
			b.writeTasks(ctx, r, left[at:at+1])
		}
	}
}

// noteTaken counts what the provider has.
func (r *round) noteTaken(t task) {
	if len(t.set.Data) > 0 {
		r.taken++
	}
}

func beForeign(key rrsetKey, s standing) error {
	return server.Beside("%s %s: what the provider has there stays: %s; remove it there", key.owner, key.t, s.foreign)
}

func meanSame(t rdata.Type, one, other []string) bool {
	return slices.Equal(server.Meaning(t, one), server.Meaning(t, other))
}

// isThere says whether the provider has what a task is about, and remembers in which words.
func (b *Backend) isThere(t task, s standing, exactTTL bool) bool {
	if len(t.set.Data) == 0 || len(s.data) == 0 {
		delete(b.kept, t.key)
		return len(t.set.Data) == len(s.data)
	}
	if !meanSame(t.key.t, s.data, t.set.Data) {
		return false
	}
	if k, ok := b.kept[t.key]; ok && k.asked.TTL == t.set.TTL && k.came.ttl == s.ttl {
		exactTTL = false
	}
	if exactTTL && s.ttl != t.set.TTL {
		return false
	}
	if s.ttl == t.set.TTL && slices.Equal(s.data, sorted(t.set.Data)) {
		delete(b.kept, t.key)
		return true
	}
	if s.ttl != t.set.TTL {
		b.config.Logger.Info("the provider has another ttl", "name", t.key.owner, "type", t.key.t, "asked", t.set.TTL, "ttl", s.ttl)
	}
	b.kept[t.key] = kept{t.set, s}
	return true
}

// writeChanges sends what has to change, as the provider adjusts it. It returns the tasks that were sent, and the error
// of sending them.
func (b *Backend) writeChanges(ctx context.Context, r *round, list listing, tasks []task) ([]task, error) {
	tasks, err := b.adjustWishes(ctx, r, tasks)
	if len(tasks) == 0 || err != nil {
		return tasks, err
	}
	var body changes
	for _, t := range tasks {
		switch s, there := list[t.key]; {
		case len(t.set.Data) == 0:
			body.Delete = append(body.Delete, s.listed)
		case there:
			body.UpdateOld, body.UpdateNew = append(body.UpdateOld, s.listed), append(body.UpdateNew, t.wish)
		default:
			body.Create = append(body.Create, t.wish)
		}
	}
	if ctx.Err() != nil {
		return tasks, fmt.Errorf("external-dns provider: not done in time: %w", ctx.Err())
	}
	_, _, err = b.callProvider(ctx, http.MethodPost, "records", body, http.StatusNoContent)
	return tasks, err
}

// adjustWishes lets the provider add what it needs to what it is to be sent. What it would write as something else is
// refused, and no task any more.
func (b *Backend) adjustWishes(ctx context.Context, r *round, tasks []task) ([]task, error) {
	var wishes []endpoint
	for _, t := range tasks {
		if len(t.set.Data) > 0 {
			wishes = append(wishes, t.wish)
		}
	}
	if len(wishes) == 0 {
		return tasks, nil
	}
	body, _, err := b.callProvider(ctx, http.MethodPost, "adjustendpoints", wishes, http.StatusOK)
	if err != nil {
		return tasks, err
	}
	var adjusted []endpoint
	if err := json.Unmarshal(body, &adjusted); err != nil {
		return tasks, fmt.Errorf("external-dns provider: the answer to POST /adjustendpoints is no list of endpoints: %w", err)
	}
	forms := map[string][]endpoint{}
	for _, e := range adjusted {
		owner := strings.ToLower(strings.TrimSuffix(e.DNSName, "."))
		forms[owner] = append(forms[owner], e)
	}
	var kept []task
	for _, t := range tasks {
		if len(t.set.Data) > 0 {
			at := slices.IndexFunc(forms[t.wish.DNSName], func(e endpoint) bool {
				data, err := dataOf(e, t.key.t, b.config.PlainText)
				return err == nil && e.RecordType == t.wish.RecordType && meanSame(t.key.t, data, t.set.Data)
			})
			if at < 0 {
				r.results[t.at] = protocol.Refuse(protocol.CodeInvalidRecord, "the provider would write %s %s %q %s", t.key.owner, t.key.t,
					t.wish.Targets, describeForms(forms[t.wish.DNSName]))
				continue
			}
			t.wish = forms[t.wish.DNSName][at]
		}
		kept = append(kept, t)
	}
	return kept, nil
}

func describeForms(forms []endpoint) string {
	if len(forms) == 0 {
		return "not at all; its log may say why"
	}
	text := "as"
	for _, e := range forms {
		text += fmt.Sprintf(" %s %q", e.RecordType, e.Targets)
	}
	return text
}

// findBeside says what an RRset cannot stand beside, nil for nothing.
func findBeside(list listing, t task) error {
	for _, other := range types {
		if _, there := list[rrsetKey{t.key.owner, other}]; there && other != t.key.t && len(t.set.Data) > 0 &&
			(other == rdata.CNAME || t.key.t == rdata.CNAME) {
			return server.Beside("%s %s cannot stand beside the %s that the provider has there; remove that first",
				t.key.owner, t.key.t, other)
		}
	}
	return nil
}

// explainLoss says why an RRset is not as it was asked for. Only a provider that answers with success, and has taken
// others, has judged the record: a failure may pass, as that for too many requests does.
func (r *round) explainLoss(l loss) error {
	switch {
	case errors.As(l.err, new(*protocol.Error)):
		return l.err
	case l.err != nil:
		return fmt.Errorf("%s %s is not as asked for: %w", l.key.owner, l.key.t, l.err)
	case r.taken > 0:
		return protocol.Refuse(protocol.CodeInvalidRecord, "%s %s: the provider answers with success, and does not have it so afterwards; "+
			"its log may say why", l.key.owner, l.key.t)
	}
	return fmt.Errorf("%s %s: the provider answers with success, and has nothing of it afterwards; see that it has the zone %s, "+
		"and that its --domain-filter lets it", l.key.owner, l.key.t, r.zone)
}

// Read answers from the list, in the words of the last Apply where the provider has others for it.
func (b *Backend) Read(ctx context.Context, zone, owner name.Name, t rdata.Type) (protocol.RRset, error) {
	set := protocol.RRset{Zone: zone, Name: owner, Type: t}
	if !slices.Contains(b.config.Types, t) {
		return set, b.checkForm(set)
	}
	if err := b.takeTurn(ctx); err != nil {
		return set, err
	}
	defer b.endTurn()
	list, err := b.listRecords(ctx)
	if err != nil {
		return set, err
	}
	s := list[keyOf(set)]
	if s.foreign != "" {
		return set, beForeign(keyOf(set), s)
	}
	set.TTL, set.Data = s.ttl, s.data
	if k, ok := b.kept[keyOf(set)]; ok && k.came.ttl == s.ttl && slices.Equal(k.came.data, s.data) {
		set.TTL, set.Data = k.asked.TTL, k.asked.Data
	}
	return set, nil
}

// Health asks for what the provider filters, which is little work for it, and tells of no credentials.
func (b *Backend) Health(ctx context.Context) error {
	_, answered, err := b.callProvider(ctx, http.MethodGet, "", nil, http.StatusOK)
	if err == nil && answered != mediaType {
		err = fmt.Errorf("external-dns provider: GET / is answered with the media type %q, want %q; "+
			"see that --external-dns-url names a webhook provider", answered, mediaType)
	}
	return err
}
