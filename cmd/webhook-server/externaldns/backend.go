// Copyright The Kubizone Authors.
// SPDX-License-Identifier: Apache-2.0

package externaldns

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"net/url"
	"slices"
	"time"

	"kubi.zone/kubizone/cmd/webhook-server/server"
	"kubi.zone/kubizone/pkg/client/externaldns/contract"
	"kubi.zone/kubizone/pkg/delivery/webhook/protocol"
	"kubi.zone/kubizone/pkg/dns/name"
	"kubi.zone/kubizone/pkg/dns/rdata"
)

type Config struct {
	URL string
	// Types are the types that the provider writes and lists; nil means ListedTypes.
	Types []rdata.Type
	// PlainText is true if the provider takes TXT without quotes, as for Azure.
	PlainText bool
	// Logger logs values that a provider changes; may be nil.
	Logger *slog.Logger
	Now    func() time.Time
}

type Backend struct {
	config Config
	base   *url.URL
	client *http.Client
	// slot serializes requests except Health, and guards the fields below.
	slot     chan struct{}
	list     listing // nil if unknown
	listedAt time.Time
	forms    map[contract.Key]storedForm
}

type storedForm struct {
	requested protocol.RRset
	listed    listedRRset
}

var _ server.Backend = (*Backend)(nil)

const (
	listLife = 5 * time.Second
	// maxLost bounds the RRsets that are sent alone before the first success.
	maxLost = 3
)

func New(config Config) (*Backend, error) {
	base, err := url.Parse(config.URL)
	if err != nil || !isProviderURL(base) {
		return nil, fmt.Errorf("%q: must be the URL of a webhook provider, such as http://127.0.0.1:8888", config.URL)
	}
	for _, t := range config.Types {
		if !slices.Contains(contract.Types, t) {
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
		config: config, base: base, slot: make(chan struct{}, 1), forms: map[contract.Key]storedForm{},
		client: &http.Client{
			Transport:     &http.Transport{DisableCompression: true, IdleConnTimeout: time.Minute},
			CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
		},
	}, nil
}

func isProviderURL(u *url.URL) bool {
	isHTTP := u.Scheme == "http" || u.Scheme == "https"
	return isHTTP && u.Host != "" && u.RawQuery == "" && u.Fragment == ""
}

func (b *Backend) acquireSlot(ctx context.Context) error {
	select {
	case b.slot <- struct{}{}:
		return nil
	case <-ctx.Done():
		return fmt.Errorf("external-dns provider: others are asked before this: %w", ctx.Err())
	}
}

func (b *Backend) releaseSlot() { <-b.slot }

func (b *Backend) listRecords(ctx context.Context) (listing, error) {
	if at := b.config.Now(); b.list == nil || at.Sub(b.listedAt) >= listLife {
		var endpoints []contract.Endpoint
		if _, err := b.callProvider(ctx, http.MethodGet, "records", nil, &endpoints); err != nil {
			return nil, err
		}
		b.list, b.listedAt = makeListing(endpoints, b.config.PlainText), at
	}
	return b.list, nil
}

type task struct {
	contract.Key
	index   int
	set     protocol.RRset
	wish    *contract.Endpoint // to write; nil for a removal
	lossErr error
}

type round struct {
	zone      name.Name
	results   []error
	accepted  int
	lostTasks []*task // sent alone, and still missing in the listing
	// stopErr is set if the provider rejects requests for now, or the client is gone.
	stopErr error
}

// Apply writes the RRsets that differ from the provider's listing, and then checks the listing. Missing RRsets are sent
// again in smaller parts, and finally alone. If an RRset occurs twice, the last counts.
func (b *Backend) Apply(ctx context.Context, zone name.Name, sets []protocol.RRset) []error {
	r := &round{zone: zone, results: make([]error, len(sets))}
	lastIndex := map[contract.Key]int{}
	for index, set := range sets {
		lastIndex[keyOf(set)] = index
	}

	removed, rest := b.makeTasks(r, sets, lastIndex)
	if err := b.acquireSlot(ctx); err != nil {
		r.fail(slices.Concat(removed, rest), err)
	} else {
		b.writeTasks(ctx, r, removed)
		b.writeTasks(ctx, r, rest)
		b.releaseSlot()
	}

	for _, t := range r.lostTasks {
		r.results[t.index] = r.explainLoss(t)
	}
	for index, set := range sets {
		r.results[index] = r.results[lastIndex[keyOf(set)]]
	}
	return r.results
}

// makeTasks returns the tasks of the last RRset of each key. Removals at a name come first, for example of a CNAME
// before an A.
func (b *Backend) makeTasks(r *round, sets []protocol.RRset, lastIndex map[contract.Key]int) (removed, rest []*task) {
	hasData := map[name.Name]bool{}
	for _, set := range sets {
		hasData[set.Name] = hasData[set.Name] || len(set.Data) > 0
	}
	for index, set := range sets {
		if lastIndex[keyOf(set)] != index {
			continue
		}
		t, err := b.makeTask(index, set)
		isRemoval := len(set.Data) == 0
		switch {
		case err != nil && isRemoval: // success: such an RRset was never written
		case err != nil:
			r.results[index] = err
		case isRemoval && hasData[set.Name]:
			removed = append(removed, t)
		default:
			rest = append(rest, t)
		}
	}
	return removed, rest
}

func keyOf(set protocol.RRset) contract.Key { return contract.Key{Name: set.Name, Type: set.Type} }

func (b *Backend) makeTask(at int, set protocol.RRset) (t *task, err error) {
	t = &task{Key: keyOf(set), index: at, set: set}
	if err = b.checkForm(set); err == nil && len(set.Data) > 0 {
		t.wish, err = endpointOf(set, b.config.PlainText)
	}
	return t, err
}

func (b *Backend) checkForm(set protocol.RRset) error {
	switch {
	case !slices.Contains(contract.Types, set.Type):
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

func (r *round) fail(tasks []*task, err error) {
	for _, t := range tasks {
		r.results[t.index] = err
	}
}

func (r *round) lose(tasks []*task, err error) {
	for _, t := range tasks {
		t.lossErr = err
		r.lostTasks = append(r.lostTasks, t)
	}
}

func (r *round) mayGoOn(ctx context.Context) error {
	if r.stopErr == nil && ctx.Err() != nil {
		r.stopErr = fmt.Errorf("external-dns provider: not done in time: %w", ctx.Err())
	}
	return r.stopErr
}

func (b *Backend) writeTasks(ctx context.Context, r *round, tasks []*task) {
	switch err := r.mayGoOn(ctx); {
	case len(tasks) == 0:
		return
	case err != nil:
		r.fail(tasks, err)
		return
	case r.accepted == 0 && len(r.lostTasks) >= maxLost:
		r.lose(tasks, r.lostTasks[len(r.lostTasks)-1].lossErr)
		return
	}
	list, err := b.listRecords(ctx)
	if err != nil {
		r.fail(tasks, err)
		return
	}
	// 1. Write the differences from the listing.
	pending, failed := b.writeChanges(ctx, r, list, b.findDifferences(r, list, tasks))
	if len(pending) == 0 {
		return
	}
	// 2. List again, to find the tasks without effect.
	b.list = nil
	if list, err = b.listRecords(ctx); err != nil {
		r.fail(pending, err)
		return
	}
	var left []*task
	for _, t := range pending {
		// If the request succeeded, the provider has chosen a different TTL.
		if !b.isThere(r, t, list[t.Key], failed != nil) {
			left = append(left, t)
		}
	}
	// 3. Send these again in smaller parts.
	switch {
	case len(left) == 0:
	case errors.As(failed, new(*protocol.Error)) || r.stopErr != nil:
		r.stopErr = failed
		r.fail(left, failed)
	case len(pending) == 1:
		if beside := findBeside(list, pending[0]); beside != nil {
			failed = beside
		}
		r.lose(left, failed)
	default:
		size := 1 // skipped by the provider
		if failed != nil {
			size = (len(left) + 1) / 2 // a single task may have failed the request
		}
		for part := range slices.Chunk(left, size) {
			b.writeTasks(ctx, r, part)
		}
	}
}

// findDifferences returns the tasks that differ from the listing, and rejects tasks whose listing is no RRset.
func (b *Backend) findDifferences(r *round, list listing, tasks []*task) (pending []*task) {
	for _, t := range tasks {
		s := list[t.Key]
		switch {
		case s.foreign != "" && t.wish == nil:
			r.results[t.index] = protocol.Refuse(protocol.CodeRecordNotFound, "%s stays: %s", t.Key, s.foreign)
		case s.foreign != "":
			r.results[t.index] = beForeign(t.Key, s)
		case !b.isThere(r, t, s, true):
			pending = append(pending, t)
		}
	}
	return pending
}

func beForeign(key contract.Key, s listedRRset) error {
	return server.CoexistError("%s: the provider's data there stay: %s; remove them there", key, s.foreign)
}

func meanSame(t rdata.Type, one, other []string) bool {
	return slices.Equal(server.Meaning(t, one), server.Meaning(t, other))
}

func (b *Backend) isThere(r *round, t *task, s listedRRset, exactTTL bool) bool {
	before := b.forms[t.Key]
	delete(b.forms, t.Key)
	isRemoval, isAbsent := t.wish == nil, len(s.data) == 0
	if isRemoval || isAbsent {
		return isRemoval && isAbsent
	}
	if !meanSame(t.Type, s.data, t.set.Data) {
		return false
	}

	sameTTL := s.ttl == t.set.TTL
	if sameTTL && slices.Equal(s.data, sorted(t.set.Data)) {
		r.accepted++
		return true
	}
	acceptedBefore := before.requested.TTL == t.set.TTL && before.listed.ttl == s.ttl
	if exactTTL && !sameTTL && !acceptedBefore {
		return false
	}
	if !sameTTL {
		b.config.Logger.Info("the provider has another ttl", "name", t.Name, "type", t.Type, "asked", t.set.TTL, "ttl", s.ttl)
	}
	r.accepted++
	b.forms[t.Key] = storedForm{t.set, s}
	return true
}

func (b *Backend) writeChanges(ctx context.Context, r *round, list listing, tasks []*task) ([]*task, error) {
	tasks, err := b.adjustWishes(ctx, r, tasks)
	if len(tasks) == 0 || err != nil {
		return tasks, err
	}
	var body contract.Changes
	for _, t := range tasks {
		switch s, there := list[t.Key]; {
		case t.wish == nil:
			body.Delete = append(body.Delete, &s.listed)
		case there:
			body.UpdateOld, body.UpdateNew = append(body.UpdateOld, &s.listed), append(body.UpdateNew, t.wish)
		default:
			body.Create = append(body.Create, t.wish)
		}
	}
	if err := r.mayGoOn(ctx); err != nil {
		return tasks, err
	}
	_, err = b.callProvider(ctx, http.MethodPost, "records", body, nil)
	return tasks, err
}

// adjustWishes lets the provider adjust endpoints, and rejects tasks that the provider would write with other data.
func (b *Backend) adjustWishes(ctx context.Context, r *round, tasks []*task) (kept []*task, err error) {
	var wishes []*contract.Endpoint
	for _, t := range tasks {
		if t.wish != nil {
			wishes = append(wishes, t.wish)
		}
	}
	if len(wishes) == 0 {
		return tasks, nil
	}
	var adjusted []contract.Endpoint
	if _, err := b.callProvider(ctx, http.MethodPost, "adjustendpoints", wishes, &adjusted); err != nil {
		return tasks, err
	}
	// Keep the removals, and the tasks whose adjusted endpoint means the requested data.
	forms := map[name.Name][]contract.Endpoint{}
	for _, e := range adjusted {
		owner, _ := contract.ParseName(e.DNSName) // the root if invalid; no task has the root
		forms[owner] = append(forms[owner], e)
	}
	for _, t := range tasks {
		if t.wish == nil {
			kept = append(kept, t)
			continue
		}
		sameData := func(e contract.Endpoint) bool {
			data, err := dataOf(&e, t.Type, b.config.PlainText)
			return err == nil && e.RecordType == t.Type.String() && meanSame(t.Type, data, t.set.Data)
		}
		match := slices.IndexFunc(forms[t.Name], sameData)
		if match < 0 {
			r.results[t.index] = protocol.Refuse(protocol.CodeInvalidRecord, "the provider would write %s %q %s", t.Key, t.wish.Targets,
				describeForms(forms[t.Name]))
			continue
		}
		t.wish = &forms[t.Name][match]
		kept = append(kept, t)
	}
	return kept, nil
}

func describeForms(forms []contract.Endpoint) string {
	if len(forms) == 0 {
		return "not at all; its log may say why"
	}
	text := "as"
	for _, e := range forms {
		text += fmt.Sprintf(" %s %q", e.RecordType, e.Targets)
	}
	return text
}

func findBeside(list listing, t *task) error {
	for _, other := range contract.Types {
		_, isListed := list[contract.Key{Name: t.Name, Type: other}]
		excludes := other != t.Type && (other == rdata.CNAME || t.Type == rdata.CNAME)
		if isListed && excludes && t.wish != nil {
			return server.CoexistError("%s conflicts with the %s that the provider has there; remove that first", t.Key, other)
		}
	}
	return nil
}

// explainLoss blames a record only if the provider reports success and has accepted others. Other failures may be
// temporary.
func (r *round) explainLoss(t *task) error {
	switch {
	case errors.As(t.lossErr, new(*protocol.Error)):
		return t.lossErr
	case t.lossErr != nil:
		return fmt.Errorf("%s is not as asked for: %w", t.Key, t.lossErr)
	case r.accepted > 0:
		return protocol.Refuse(protocol.CodeInvalidRecord, "%s: the provider reports success, and its data differ afterwards; its log "+
			"may say why", t.Key)
	}
	return fmt.Errorf("%s: the provider reports success, and does not have it afterwards; check that it has the zone %s, and that its "+
		"--domain-filter allows it", t.Key, r.zone)
}

// Read returns the listed RRset, in the form that the last Apply requested.
func (b *Backend) Read(ctx context.Context, zone, owner name.Name, t rdata.Type) (protocol.RRset, error) {
	set := protocol.RRset{Zone: zone, Name: owner, Type: t}
	if !slices.Contains(b.config.Types, t) {
		return set, b.checkForm(set)
	}
	if err := b.acquireSlot(ctx); err != nil {
		return set, err
	}
	defer b.releaseSlot()
	list, err := b.listRecords(ctx)
	if err != nil {
		return set, err
	}
	s := list[keyOf(set)]
	if s.foreign != "" {
		return set, beForeign(keyOf(set), s)
	}
	set.TTL, set.Data = s.ttl, s.data
	if k, ok := b.forms[keyOf(set)]; ok && k.listed.ttl == s.ttl && slices.Equal(k.listed.data, s.data) {
		set.TTL, set.Data = k.requested.TTL, k.requested.Data
	}
	return set, nil
}

// Health does not test the provider's credentials.
func (b *Backend) Health(ctx context.Context) error {
	answered, err := b.callProvider(ctx, http.MethodGet, "", nil, new(any))
	if err == nil && answered != contract.MediaType {
		err = fmt.Errorf("external-dns provider: GET / is answered with the media type %q, want %q; "+
			"see that --external-dns-url names a webhook provider", answered, contract.MediaType)
	}
	return err
}
