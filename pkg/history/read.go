// Copyright The Kubizone Authors.
// SPDX-License-Identifier: Apache-2.0

package history

import (
	"cmp"
	"context"
	"encoding/json"
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
	"kubi.zone/kubizone/pkg/dns/name"
	"kubi.zone/kubizone/pkg/dns/serial"
	"kubi.zone/kubizone/pkg/rrsets"
)

const maxSteps = 100_000

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
	WholeSince time.Time
	// Newest is the zone's serial; 0 if the user may not read the Zone.
	Newest serial.Serial
	// Ended is true if no older step exists. Cut is true if reading stopped after maxSteps.
	Ended, Cut bool
	// Masked is true if steps of other namespaces lack their user and Records.
	Masked bool
}

// Reader reads the history from the API, with the rights of the user.
type Reader struct {
	Client typed.KubizoneV1alpha1Interface
	// Page is the number of steps to request at once; 0 means v1alpha1.MaxHistoryLimit.
	Page   int
	masked bool
}

type page struct {
	steps      []v1alpha1.HistoryStep
	nextToken  string
	wholeSince time.Time
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
	past.Masked = r.masked
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

// unmaskOwn replaces the steps of the user's namespace, because the server hides users and Records of another
// namespace's zone.
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

	type stepKey struct{ contentGeneration, serial int64 }
	full := make(map[stepKey]*v1alpha1.HistoryStep, len(own.Steps))
	for i := range own.Steps {
		step := &own.Steps[i]
		full[stepKey{step.ContentGeneration, step.Serial}] = step
	}
	for i := range past.Steps {
		step := &past.Steps[i]
		if unmasked := full[stepKey{step.ContentGeneration, step.Serial}]; unmasked != nil {
			*step = *unmasked
		}
	}
	return nil
}

func (r *Reader) readTenant(ctx context.Context, s Subject, enough func(*v1alpha1.HistoryStep) bool) (*Past, error) {
	past := &Past{}
	for next := ""; ; {
		p, err := rrsets.Retry(ctx, func() (*page, error) { return r.readNamespaceSteps(ctx, s, next) })
		if err != nil {
			return nil, err
		}
		past.WholeSince = laterOf(past.WholeSince, p.wholeSince)
		past.Steps = append(past.Steps, p.steps...)
		next = p.nextToken
		if past.Ended, past.Cut = next == "", next != "" && len(past.Steps) > maxSteps; past.Ended || past.Cut {
			break
		}
	}
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

func (r *Reader) readAll(ctx context.Context, s Subject, read func(context.Context, Subject, string) (*page, error),
	enough func(*v1alpha1.HistoryStep) bool) (*Past, error) {
	past := &Past{}
	for next := ""; ; {
		p, err := rrsets.Retry(ctx, func() (*page, error) { return read(ctx, s, next) })
		if err != nil {
			return nil, err
		}
		if p.fqdn != "" {
			past.FQDN, past.View = p.fqdn, p.view
		}
		past.WholeSince = laterOf(past.WholeSince, p.wholeSince)
		for i := range p.steps {
			past.Steps = append(past.Steps, p.steps[i])
			if enough != nil && enough(&p.steps[i]) {
				return past, nil
			}
		}
		if next = p.nextToken; next == "" {
			past.Ended = true
			return past, nil
		}
		if len(past.Steps) > maxSteps {
			past.Cut = true
			return past, nil
		}
	}
}

func (r *Reader) request(namespace, resource, object, next string) *rest.Request {
	request := r.Client.RESTClient().Get().Namespace(namespace).Resource(resource).Name(object).SubResource("changes").
		Param("limit", strconv.Itoa(cmp.Or(r.Page, v1alpha1.MaxHistoryLimit)))
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

// Since returns the steps after a moment, or an error if some may be missing.
func (p *Past) Since(m Moment) ([]v1alpha1.HistoryStep, error) {
	if m.Serial != 0 && p.Newest != 0 && m.Serial.Ahead(p.Newest) {
		return nil, fmt.Errorf("zone %s has not reached %s: it has serial %d", p.FQDN, m, p.Newest)
	}
	if m.Serial != 0 && m.Serial == p.Newest {
		return nil, nil
	}
	for i := range p.Steps {
		if x, first := &p.Steps[i], &p.Steps[0]; m.Serial != 0 && (x.FQDN != first.FQDN || x.View != first.View) {
			return nil, fmt.Errorf("your changes are of zones %s (view %q) and %s (view %q), each with serials of its own: write a time, "+
				"not %s", first.FQDN, first.View, x.FQDN, x.View, m)
		}
	}
	end := slices.IndexFunc(p.Steps, func(x v1alpha1.HistoryStep) bool { return !m.IsBefore(&x) })
	steps := p.Steps
	if end >= 0 {
		steps = steps[:end]
	}
	for i := range steps {
		if x := &steps[i]; x.Condensed {
			return nil, fmt.Errorf("%s is beyond the history of zone %s: the values before serial %d are no longer kept; serial %d is the "+
				"oldest that can be rebuilt", m, x.FQDN, x.Serial, x.Serial)
		}
	}
	if end >= 0 {
		return steps, nil
	}
	oldest := Moment{}
	if len(steps) > 0 {
		oldest.Serial = serialOf(steps[len(steps)-1].From)
	}
	switch {
	case len(steps) == 0 && m.Serial == 0 && !m.Time.Before(p.WholeSince):
		return nil, nil
	case p.Newest == 0 && m.Serial != 0 && m.Serial != oldest.Serial:
		return nil, fmt.Errorf("you have no change at or before %s: write a time, since you may not read the serials of the zone", m)
	case len(steps) == 0:
		return nil, fmt.Errorf("%s is beyond the history of zone %s, which has no step; spec.historyRetention of the Zone sets how long "+
			"it is kept", m, p.FQDN)
	case oldest.Serial == 0:
		return nil, fmt.Errorf("zone %s did not exist at %s: its first serial is %d; write that, or a later one", p.FQDN, m,
			steps[len(steps)-1].Serial)
	case m.Serial == oldest.Serial, m.Serial == 0 && !p.Cut && !m.Time.Before(p.WholeSince):
		return steps, nil
	}
	return nil, fmt.Errorf("%s is beyond the history of zone %s: %s is the oldest that can be rebuilt", m, p.FQDN, oldest)
}

func (r *Reader) LastOfRecord(ctx context.Context, namespace, object string) (*v1alpha1.HistoryStep, error) {
	answer := &v1alpha1.RecordChanges{}
	if err := r.askLast(namespace, "records", object).Do(ctx).Into(answer); err != nil || len(answer.History) == 0 {
		return nil, err
	}
	return &answer.History[0], nil
}

func NameOfRecord(step *v1alpha1.HistoryStep, of types.NamespacedName) (name.Name, error) {
	apex, err := name.Parse(step.FQDN)
	if err != nil {
		return apex, fmt.Errorf("the history has no valid zone: %w", err)
	}
	rows := slices.Concat(step.Removed, step.Added)
	for i := range step.Records {
		r := &step.Records[i]
		var spec v1alpha1.RecordSpec
		switch {
		case r.Namespace != of.Namespace || r.Name != of.Name:
		case r.Before != nil && r.Before.Spec != nil && json.Unmarshal(r.Before.Spec.Raw, &spec) == nil:
			return name.ParseIn(spec.DomainName, apex)
		case len(step.Records) == 1 && len(rows) > 0:
			return name.Parse(ownerOf(rows[0].Owner, step.FQDN))
		}
	}
	return apex, fmt.Errorf("the history has no DNS name of record %s; kubectl kubizone log %s prints the changes of the zone", of, apex)
}

// LastOfZone returns the newest step of a zone, nil for none, with the user if the caller may read users.
func (r *Reader) LastOfZone(ctx context.Context, namespace, object string) (*v1alpha1.HistoryStep, error) {
	step, err := r.lastOfZone(ctx, namespace, object, true)
	if apierrors.IsForbidden(err) {
		return r.lastOfZone(ctx, namespace, object, false)
	}
	return step, err
}

// DescribeLast returns a zone's newest step as the end of a sentence, or "".
func (r *Reader) DescribeLast(ctx context.Context, zone *v1alpha1.Zone) string {
	step, _ := r.lastOfZone(ctx, zone.Namespace, zone.Name, false)
	return DescribeLast(step)
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

func DescribeLast(step *v1alpha1.HistoryStep) string {
	if step == nil {
		return ""
	}
	by := AuthorOf(step)
	return "; last change: by " + by.String()
}
