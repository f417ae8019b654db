// Copyright The Kubizone Authors.
// SPDX-License-Identifier: Apache-2.0

package history

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strconv"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/rest"

	typed "kubi.zone/kubizone/api/client/clientset/versioned/typed/kubizone/v1alpha1"
	"kubi.zone/kubizone/api/kubizone/v1alpha1"
	"kubi.zone/kubizone/pkg/apis/rrsets"
	"kubi.zone/kubizone/pkg/dns/name"
	"kubi.zone/kubizone/pkg/dns/serial"
)

// Octets in memory of a reading. Steps of other namespaces beyond maxOthers count as missing, and the reading ends at
// maxOctets.
const (
	maxOthers = 256 << 20
	maxOctets = 1 << 30
)

// Subject selects the history of a zone or name.
type Subject struct {
	// Zone is nil if the user may not read the Zone. The steps are then those of Namespace's own Records.
	Zone      *v1alpha1.Zone
	Name      name.Name
	Namespace string
}

func (s *Subject) Describe() string {
	if s.Name.IsZero() && s.Zone != nil {
		return s.Zone.Status.FQDN
	}
	return s.Name.String()
}

// Past is the history of a zone that a user may read: its steps (changes with user and time), newest first.
type Past struct {
	// FQDN and View are the zone's. Both are "" for a user who sees only own Records and has no step.
	FQDN, View string
	Steps      []v1alpha1.HistoryStep
	// WholeSince is the time after the last step that is missing or has lost its values; zero without such a step.
	// OwnSince is the same for steps of namespace Own: the zone's, or the user's in the zone of another namespace.
	WholeSince, OwnSince time.Time
	Own                  string
	// Newest is the zone's serial; 0 if the user may not read the Zone.
	Newest serial.Serial
	// Ended is true if no older step exists. Cut is true if reading stopped after maxOctets.
	Ended, Cut bool
	// Masked is true if steps of other namespaces lack their user and Records.
	Masked bool

	ownOnly bool // Steps has no steps of other namespaces, by request
}

// Reader reads the history from the API, with the rights of the user.
type Reader struct {
	Client typed.KubizoneV1alpha1Interface
	// Page is the number of steps to request at once; 0 means v1alpha1.MaxHistoryLimit.
	Page   int
	masked bool
	others int // in place of maxOthers, for tests
}

type page struct {
	steps      []v1alpha1.HistoryStep
	nextToken  string
	wholeSince time.Time
	ownSince   time.Time
	fqdn       string
	view       string
}

// Read returns the history of a zone, or of the user's own Records if s.Zone is nil. It begins with the newest step
// (change of the zone), and ends with the first step for which isLast returns true.
func (r *Reader) Read(ctx context.Context, s Subject, isLast func(*v1alpha1.HistoryStep) bool) (*Past, error) {
	if s.Zone == nil {
		return r.readTenant(ctx, s, isLast)
	}
	past, err := r.readAll(ctx, s, r.readZone, isLast)
	if err != nil {
		return nil, err
	}
	past.Masked, past.Own = r.masked, s.Zone.Namespace
	past.Newest = serialOf(s.Zone.Status.Serial)
	if len(past.Steps) == 0 {
		return past, nil
	}
	if newestStep := serialOf(past.Steps[0].Serial); newestStep.Ahead(past.Newest) {
		past.Newest = newestStep
	}
	isOwnZone := s.Namespace == s.Zone.Namespace
	if !r.masked || isOwnZone {
		return past, nil
	}
	if err := r.unmaskOwn(ctx, s, past); err != nil {
		return nil, err
	}
	return past, nil
}

// unmaskOwn replaces or inserts the steps of the user's namespace, because the server hides users and Records of
// another namespace's zone.
func (r *Reader) unmaskOwn(ctx context.Context, s Subject, past *Past) error {
	oldest := serialOf(past.Steps[len(past.Steps)-1].Serial)
	isOldest := func(step *v1alpha1.HistoryStep) bool { return !serialOf(step.Serial).Ahead(oldest) }
	own, err := r.readAll(ctx, s, r.readNamespaceSteps, isOldest)
	if apierrors.IsForbidden(err) {
		return nil
	}
	if err != nil {
		return err
	}

	past.Own, past.OwnSince = s.Namespace, own.WholeSince
	merged, rest := make([]v1alpha1.HistoryStep, 0, len(past.Steps)), own.Steps
	for i := range past.Steps {
		step := &past.Steps[i]
		for len(rest) > 0 && isNewer(&rest[0], step) {
			merged, rest = append(merged, rest[0]), rest[1:]
		}
		if len(rest) > 0 && !isNewer(step, &rest[0]) { // the same
			step, rest = &rest[0], rest[1:]
		}
		merged = append(merged, *step)
	}
	past.Steps = merged
	return nil
}

// isNewer compares two steps of a zone. A zone's removal has the serial of the last step before, and the next number.
func isNewer(x, y *v1alpha1.HistoryStep) bool {
	return serialOf(x.Serial).Ahead(serialOf(y.Serial)) || x.Serial == y.Serial && x.ContentGeneration > y.ContentGeneration
}

// readTenant returns the steps of the user's namespace, newest first, up to the first for which enough returns true.
func (r *Reader) readTenant(ctx context.Context, s Subject, enough func(*v1alpha1.HistoryStep) bool) (*Past, error) {
	past, err := r.readAll(ctx, s, r.readNamespaceSteps, nil)
	if err != nil {
		return nil, err
	}
	past.Own, past.ownOnly, past.OwnSince = s.Namespace, true, past.WholeSince
	isOther := func(x v1alpha1.HistoryStep) bool { return x.FQDN != s.Name.String() }
	if s.Zone == nil && !s.Name.IsZero() && slices.ContainsFunc(past.Steps, func(x v1alpha1.HistoryStep) bool { return !isOther(x) }) {
		past.Steps = slices.DeleteFunc(past.Steps, isOther)
	}
	slices.SortStableFunc(past.Steps, func(x, y v1alpha1.HistoryStep) int { return timeOf(&y).Compare(timeOf(&x)) })
	if len(past.Steps) > 0 {
		past.FQDN, past.View = past.Steps[0].FQDN, past.Steps[0].View
	}
	for i := range past.Steps {
		if enough != nil && enough(&past.Steps[i]) {
			past.Steps, past.Ended, past.Cut = past.Steps[:i+1], false, false
			break
		}
	}
	return past, nil
}

func timeOf(x *v1alpha1.HistoryStep) time.Time {
	if x.Time == nil {
		return time.Time{}
	}
	return x.Time.Time
}

func laterOf(x, y time.Time) time.Time {
	if y.After(x) {
		return y
	}
	return x
}

// readAll reads pages, newest step first, until enough returns true. Beyond maxOthers, it leaves out steps of other
// namespaces than the zone's and the user's: no other namespace ends a reading of own steps.
func (r *Reader) readAll(ctx context.Context, s Subject, read func(context.Context, Subject, string) (*page, error),
	enough func(*v1alpha1.HistoryStep) bool) (*Past, error) {
	past, octets, most := &Past{}, 0, cmp.Or(r.others, maxOthers)
	for next := ""; ; {
		p, err := rrsets.Retry(ctx, func() (*page, error) { return read(ctx, s, next) })
		if err != nil {
			return nil, err
		}
		if p.fqdn != "" {
			past.FQDN, past.View = p.fqdn, p.view
		}
		past.WholeSince, past.OwnSince = laterOf(past.WholeSince, p.wholeSince), laterOf(past.OwnSince, p.ownSince)
		for i := range p.steps {
			if x := &p.steps[i]; octets < most || !s.isOfOthers(x) {
				past.Steps = append(past.Steps, *x)
				octets += octetsOf(x)
			}
			if enough != nil && enough(&p.steps[i]) {
				return past, nil
			}
		}
		if next = p.nextToken; next == "" {
			past.Ended = true
			return past, nil
		}
		if octets > maxOctets {
			past.Cut = true
			return past, nil
		}
	}
}

// isOfOthers reports whether a step changed neither a Record of the zone's or the user's namespace nor the Zone.
func (s *Subject) isOfOthers(x *v1alpha1.HistoryStep) bool {
	if s.Zone != nil && len(x.Records) > 0 {
		return x.Records[0].Namespace != s.Zone.Namespace && x.Records[0].Namespace != s.Namespace
	}
	return x.AnotherNamespace
}

// octetsOf estimates a step's octets in memory.
func octetsOf(x *v1alpha1.HistoryStep) int { return 700 + 3*x.Size() }

func (r *Reader) request(namespace, resource, object, next string) *rest.Request {
	request := r.Client.RESTClient().Get().Namespace(namespace).Resource(resource).Name(object).SubResource("changes").
		Param("limit", strconv.Itoa(cmp.Or(r.Page, v1alpha1.MaxHistoryLimit))).MaxRetries(0) // rrsets.Retry keeps the reason
	if next != "" {
		request.Param("continue", next)
	}
	return request
}

func (r *Reader) readZone(ctx context.Context, s Subject, next string) (*page, error) {
	ask := func(into runtime.Object) error {
		request := r.request(s.Zone.Namespace, "zones", s.Zone.Name, next).Param("form", v1alpha1.FormHistory)
		if s.Zone.Name == v1alpha1.AnyZone {
			request.Param("fqdn", s.Zone.Status.FQDN)
		}
		if !r.masked {
			request.Param("sources", "true")
		}
		return request.Do(ctx).Into(into)
	}
	answer := &v1alpha1.ZoneChanges{}
	err := ask(answer)
	if apierrors.IsForbidden(err) && !r.masked {
		r.masked = true
		err = ask(answer)
	}
	if err != nil {
		return nil, fmt.Errorf("history of zone %s/%s: %w", s.Zone.Namespace, s.Zone.Name, err)
	}
	p := &page{steps: answer.History, nextToken: answer.Metadata.Continue, fqdn: answer.FQDN, view: answer.View}
	if answer.WholeSince != nil {
		p.wholeSince = answer.WholeSince.Time
	}
	if answer.OwnWholeSince != nil {
		p.ownSince = answer.OwnWholeSince.Time
	}
	return p, nil
}

func (r *Reader) readNamespaceSteps(ctx context.Context, s Subject, next string) (*page, error) {
	answer, enclosing := &v1alpha1.RecordChanges{}, s.Name.String()
	if s.Zone != nil {
		enclosing = s.Zone.Status.FQDN
	}
	request := r.request(s.Namespace, "records", v1alpha1.AllRecords, next).Param("enclosing", enclosing)
	if err := request.Do(ctx).Into(answer); err != nil {
		return nil, fmt.Errorf("history of the Records of namespace %s: %w", s.Namespace, err)
	}
	p := &page{nextToken: answer.Metadata.Continue}
	if answer.WholeSince != nil {
		p.wholeSince = answer.WholeSince.Time
	}
	for i := range answer.History {
		x := &answer.History[i]
		switch fqdn, err := name.Parse(x.FQDN); {
		case err != nil:
		case s.Zone != nil && (x.FQDN != s.Zone.Status.FQDN || x.View != s.Zone.Status.View):
		case s.Zone == nil && !fqdn.Encloses(s.Name):
		default:
			p.steps = append(p.steps, *x)
		}
	}
	return p, nil
}

// Since returns the steps after a moment, or an error if steps of Own may be missing there. Other steps may be missing,
// or have lost their values: Losses names them.
func (p *Past) Since(m Moment) ([]v1alpha1.HistoryStep, error) {
	if err := p.checkSerial(m); err != nil {
		return nil, err
	}
	if m.Serial != 0 && m.Serial == p.Newest {
		return nil, nil
	}
	steps := p.Steps
	end := slices.IndexFunc(steps, func(x v1alpha1.HistoryStep) bool { return !m.IsBefore(&x) })
	if end >= 0 {
		steps = steps[:end]
	}
	if err := p.checkGaps(m, len(steps)); err != nil {
		return nil, err
	}
	if end < 0 {
		if err := p.checkBegin(m); err != nil {
			return nil, err
		}
	}
	return steps, nil
}

func (p *Past) checkSerial(m Moment) error {
	if m.Serial == 0 {
		return nil
	}
	if p.Newest != 0 && m.Serial.Ahead(p.Newest) {
		return fmt.Errorf("zone %s has not reached %s: it has serial %d", p.FQDN, m, p.Newest)
	}
	isOther := func(x v1alpha1.HistoryStep) bool { return x.FQDN != p.Steps[0].FQDN || x.View != p.Steps[0].View }
	if at := slices.IndexFunc(p.Steps, isOther); at >= 0 {
		return fmt.Errorf("your changes are of zones %s (view %q) and %s (view %q), each with serials of its own: write a time, not %s",
			p.Steps[0].FQDN, p.Steps[0].View, p.Steps[at].FQDN, p.Steps[at].View, m)
	}
	return nil
}

// checkGaps returns an error if own steps may be missing among the n newest.
func (p *Past) checkGaps(m Moment, n int) error {
	for i := range n {
		if p.isMissingAfter(i) && timeOf(&p.Steps[i+1]).Before(p.OwnSince) { // the missing steps may be own ones
			return fmt.Errorf("%s is beyond the history of zone %s: changes before serial %d are no longer kept, and serial %d is "+
				"the oldest to rebuild", m, p.FQDN, p.Steps[i].Serial, p.Steps[i].From)
		}
	}
	return nil
}

// checkBegin returns an error unless the content before the oldest step is that of a moment.
func (p *Past) checkBegin(m Moment) error {
	oldest := &v1alpha1.HistoryStep{}
	if n := len(p.Steps); n > 0 {
		oldest = &p.Steps[n-1]
	}
	from := Moment{Serial: serialOf(oldest.From)}
	switch {
	case p.Newest == 0 && m.Serial != 0 && m.Serial != from.Serial:
		return fmt.Errorf("you have no change at or before %s: write a time, since you may not read the serials of the zone", m)
	case len(p.Steps) > 0 && from.Serial == 0:
		return fmt.Errorf("zone %s did not exist at %s: its first serial is %d; write that, or a later one", p.FQDN, m, oldest.Serial)
	case p.knowsOwnSince(m):
		return nil
	case len(p.Steps) == 0:
		return fmt.Errorf("%s is beyond the history of zone %s, which has no step; spec.historyRetention of the Zone sets how long "+
			"it is kept", m, p.FQDN)
	case m.Serial == from.Serial:
		return nil
	}
	return fmt.Errorf("%s is beyond the history of zone %s: %s is the oldest that can be rebuilt", m, p.FQDN, from)
}

// knowsOwnSince reports whether all own steps since a time are known, although older ones may be missing.
func (p *Past) knowsOwnSince(m Moment) bool {
	return m.Serial == 0 && !p.Cut && !m.Time.Before(p.OwnSince)
}

func (r *Reader) LastOfRecord(ctx context.Context, namespace, object string) (*v1alpha1.HistoryStep, error) {
	answer := &v1alpha1.RecordChanges{}
	if err := r.askLast(namespace, "records", object).Do(ctx).Into(answer); err != nil || len(answer.History) == 0 {
		return nil, err
	}
	return &answer.History[0], nil
}

// NameOfRecord returns a Record's DNS name after a step, or before the step if it removed the Record.
func NameOfRecord(step *v1alpha1.HistoryStep, of types.NamespacedName) (name.Name, error) {
	for i := range step.Records {
		if r := &step.Records[i]; r.Namespace == of.Namespace && r.Name == of.Name && r.Owner != "" {
			return name.Parse(ownerOf(r.Owner, step.FQDN))
		}
	}
	return name.Name{}, fmt.Errorf("the history has no DNS name of record %s; kubectl kubizone log %s prints the changes of the zone", of,
		step.FQDN)
}

// LastOfZone returns the newest step of a zone, nil for none, with the user if the caller may read users.
func (r *Reader) LastOfZone(ctx context.Context, namespace, object string) (*v1alpha1.HistoryStep, error) {
	step, err := r.lastOfZone(ctx, namespace, object, true)
	if apierrors.IsForbidden(err) {
		return r.lastOfZone(ctx, namespace, object, false)
	}
	return step, err
}

func (r *Reader) lastOfZone(ctx context.Context, namespace, object string, sources bool) (*v1alpha1.HistoryStep, error) {
	answer := &v1alpha1.ZoneChanges{}
	request := r.askLast(namespace, "zones", object).Param("form", v1alpha1.FormHistory).Param("sources", strconv.FormatBool(sources))
	if err := request.Do(ctx).Into(answer); err != nil || len(answer.History) == 0 {
		return nil, err
	}
	return &answer.History[0], nil
}

func (r *Reader) askLast(namespace, resource, object string) *rest.Request {
	return r.Client.RESTClient().Get().Namespace(namespace).Resource(resource).Name(object).SubResource("changes").Param("limit", "1")
}
