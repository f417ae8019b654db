// Copyright The Kubizone Authors.
// SPDX-License-Identifier: Apache-2.0

package load

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"maps"
	"net/url"
	"slices"
	"strings"
	"sync"
	"time"

	"golang.org/x/sync/errgroup"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/validation"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/pager"

	"kubi.zone/kubizone/api/client/clientset/versioned"
	"kubi.zone/kubizone/api/kubizone/v1alpha1"
	"kubi.zone/kubizone/pkg/apis/refusal"
	"kubi.zone/kubizone/pkg/apis/rrsets"
)

const (
	FieldManager = "kubizone-load"
	// ImportManager is the field manager of zone files, also of their plans.
	ImportManager = "kubizone-import"
)

const (
	maxWorkers = 64

	defaultInterval = 2 * time.Second
	maxInterval     = 30 * time.Second
	maxWarnings     = 20
)

type Config struct {
	Client *rest.Config
	// Namespace is for objects from zone files, and manifests without a namespace.
	Namespace string
	// FieldManager makes all writes; "" means the constant of this name.
	FieldManager string
	DryRun       bool
	// Prune makes Finish remove Records that no file has any more (L7).
	Prune bool
	// Plan receives the changes of each write. Note receives remarks with a kind such as "refused"; if nil, Report
	// does.
	Plan func(Change)
	Note func(kind, text string)
	// Judge returns, for each object, the reason why a server with these objects and no others refuses it, or "". A dry
	// run asks it about objects in Zones that the run makes, which the server cannot judge. Optional.
	Judge func([]*unstructured.Unstructured) []string
	// AsLastApplied makes a dry run apply each manifest as the object's last client.
	AsLastApplied bool
	// PruneSelector makes a dry run remove the Zones, Delegations and Records with these labels and without a manifest.
	PruneSelector string
	// HowToRemove is advice about left-over Records, by default "delete them".
	HowToRemove string
	// ForceConflicts overwrites other managers' changes.
	ForceConflicts bool
	// Interval is the time before the first progress line; 0 means 2 s.
	Interval time.Duration
	// Progress replaces progress lines. Optional.
	Progress func(what string, done, of int)
	// Confirm gets the number of Records before Finish removes them. Its error ends the run. Optional.
	Confirm func(removals int) error
	// Report receives lines for the user, with unescaped quotations. Optional.
	Report func(line string)
}

type Result struct {
	Written int `json:"written"`
	Present int `json:"present"` // already as wanted
	Removed int `json:"removed"`
	// Undecided counts objects that the server refuses now, and may take after another object of the same dry run.
	Undecided int `json:"undecided"`
	// Left counts objects not written, because other managers changed them.
	Left int `json:"left"`
	// NotTaken counts SOA and NS lines that differ from an existing Zone, and parts of custom resources without a
	// counterpart.
	NotTaken int `json:"notTaken"`
	// Refused counts lines of zone files and objects of manifests not loaded.
	Refused     int `json:"refused"`
	Failed      int `json:"failed"`
	NotServable int `json:"notServable"`
	// Changed counts entries of a zone's former custom resource that are missing or have another TTL.
	Changed int `json:"changed"`
	// Held counts zones not delivered after a mass deletion.
	Held int `json:"held"`
}

func (r *Result) Add(more Result) {
	r.Written += more.Written
	r.Present += more.Present
	r.Removed += more.Removed
	r.Undecided += more.Undecided
	r.Left += more.Left
	r.NotTaken += more.NotTaken
	r.Refused += more.Refused
	r.Failed += more.Failed
	r.NotServable += more.NotServable
	r.Changed += more.Changed
	r.Held += more.Held
}

func (l *Loader) reportFailed(ctx context.Context, result *Result, path string, err error) error {
	switch {
	case err == nil:
		return nil
	case StopsAll(ctx, err):
		return fmt.Errorf("load %s: %w", path, err)
	}
	result.Failed++
	l.printf("not loaded: %s: %v", path, err)
	return nil
}

// StopsAll reports whether every other file would fail too, because ctx has ended, or the server does not answer or
// rejects the user.
func StopsAll(ctx context.Context, err error) bool {
	var status apierrors.APIStatus
	var unanswered *url.Error
	return ctx.Err() != nil || apierrors.IsUnauthorized(err) || !errors.As(err, &status) && errors.As(err, &unanswered)
}

// runWorkers works on the groups of a phase in parallel, one phase after another.
func runWorkers[T any](ctx context.Context, l *Loader, what string, workers int, phases [][][]T,
	do func(ctx context.Context, group []T) (Result, error)) (result Result, err error) {
	total := 0
	for _, group := range slices.Concat(phases...) {
		total += len(group)
	}
	var mutex sync.Mutex
	done, began, pause := 0, time.Now(), l.cfg.Interval
	next := pause
	report := func(finished int) {
		done += finished
		since := time.Since(began)
		switch {
		case l.cfg.Progress != nil:
			l.cfg.Progress(what, done, total)
		case since >= next:
			l.printf("loading %s: %d of %d objects, %.0f/s", what, done, total, float64(done)/since.Seconds())
			pause = max(pause, min(2*pause, maxInterval))
			next = since + pause
		}
	}
	for _, groups := range phases {
		working, grouped := errgroup.WithContext(ctx)
		working.SetLimit(workers)
		for _, group := range groups {
			if grouped.Err() != nil {
				break
			}
			working.Go(func() error {
				if grouped.Err() != nil {
					return nil
				}
				one, err := do(grouped, group)
				mutex.Lock()
				defer mutex.Unlock()
				result.Add(one)
				if err == nil {
					report(len(group))
				}
				return err
			})
		}
		if err = working.Wait(); err != nil {
			break
		}
	}
	return result, cmp.Or(err, context.Cause(ctx))
}

func groupBy[T any, K comparable](list []T, key func(T) K) (groups [][]T) {
	at := make(map[K]int)
	for _, one := range list {
		i, ok := at[key(one)]
		if !ok {
			i = len(groups)
			at[key(one)] = i
			groups = append(groups, nil)
		}
		groups[i] = append(groups[i], one)
	}
	return groups
}

func refusalReason(err error) (reason string, ok bool) {
	if !apierrors.IsInvalid(err) && !apierrors.IsForbidden(err) && !apierrors.IsBadRequest(err) &&
		!apierrors.IsRequestEntityTooLargeError(err) && !apierrors.IsUnsupportedMediaType(err) {
		return "", false
	}
	var texts []string
	for _, one := range refusal.Of(err) {
		texts = append(texts, one.String())
	}
	return strings.Join(texts, "; "), true
}

var waitReasons = []string{v1alpha1.ReasonZoneNotFound, v1alpha1.ReasonNoEnclosingZone}

// subject is the object of a request, for its Warnings; a change set has items.
type subject struct {
	title            string
	resolvedWarnings map[string]bool
	items            []subject
}

// resolves reports whether the other writes of this load resolve the Warnings of a reason, or of several, as
// AbsentHost+UnnamedGlue.
func (s *subject) resolves(reasons string) bool {
	for reason := range strings.SplitSeq(reasons, "+") {
		if !s.resolvedWarnings[reason] {
			return false
		}
	}
	return true
}

// resolveLeftOut reports whether the Warnings that a change set left out are all resolved. They are of some items.
func (s *subject) resolveLeftOut(reasons string, items []int) bool {
	return len(items) > 0 && !slices.ContainsFunc(items, func(i int) bool { return i >= len(s.items) || !s.items[i].resolves(reasons) })
}

type subjectKey struct{}

func withSubject(ctx context.Context, of subject) context.Context {
	return context.WithValue(ctx, subjectKey{}, of)
}

func (l *Loader) withZone(ctx context.Context, title string, answered map[string]bool) context.Context {
	if !l.cfg.DryRun {
		answered = withReasons(answered, v1alpha1.ReasonNoNameServers, v1alpha1.ReasonNameServerWithoutAddress)
	}
	return withSubject(ctx, subject{title: title, resolvedWarnings: answered})
}

func withReasons(answered map[string]bool, reasons ...string) map[string]bool {
	all := maps.Clone(answered)
	if all == nil {
		all = map[string]bool{}
	}
	for _, reason := range reasons {
		all[reason] = true
	}
	return all
}

type warnings struct {
	mutex    sync.Mutex
	received map[warned][]string // titles of the objects
	leftOut  int                 // by the server
}

type warned struct{ reason, text string }

var _ rest.WarningHandlerWithContext = (*warnings)(nil)

// subjectsOf returns the objects that a Warning is about, and the Warning without their numbers: three items of a
// change set for "spec.items[3] (www-a, and items 4 7): S5.14: spec.ttl: 5s is short".
func (s subject) subjectsOf(warning string) (of []subject, text string) {
	items, rule, own := refusal.CutWarning(warning)
	switch {
	case len(items) == 0 && len(s.items) == 1:
		return s.items, warning
	case len(items) == 0 || slices.Max(items) >= len(s.items):
		return []subject{s}, warning
	}
	for _, i := range items {
		of = append(of, s.items[i])
	}
	return of, refusal.Warning(rule, own)
}

// HandleWarningHeaderWithContext collects a Warning, after the title of the object in ctx. Kubizone sends the reason as
// the agent. Reasons in resolvedWarnings are dropped, because other writes of this load resolve them.
func (w *warnings) HandleWarningHeaderWithContext(ctx context.Context, code int, reason string, text string) {
	if code != 299 || text == "" {
		return
	}
	about, _ := ctx.Value(subjectKey{}).(subject)
	leftOut, leftOutItems := refusal.CutMore(text)
	of, text := about.subjectsOf(text)
	w.mutex.Lock()
	defer w.mutex.Unlock()
	for _, one := range of {
		switch {
		case one.resolves(reason) || one.resolveLeftOut(reason, leftOutItems):
		case leftOut > 0:
			w.leftOut += leftOut
		default:
			w.add(reason, text, one.title)
		}
	}
}

func (w *warnings) add(reason, text, title string) {
	if w.received == nil {
		w.received = make(map[warned][]string)
	}
	key := warned{reason, text}
	if titles := w.received[key]; !slices.Contains(titles, title) {
		w.received[key] = append(titles, title)
	}
}

// takeAll returns the reasons and texts, those that take names away first, and the number of those left out. A text of
// several objects is one line, "S5.14: spec.ttl: 5s is short (record a/b, record a/c)".
func (w *warnings) takeAll() (all []warned, more int) {
	w.mutex.Lock()
	defer w.mutex.Unlock()
	var others []warned
	for key, titles := range w.received {
		key.text = joinTitles(key.text, slices.Sorted(slices.Values(titles)))
		if key.reason == v1alpha1.WarningTakesAway {
			all = append(all, key)
		} else {
			others = append(others, key)
		}
	}
	byText := func(a, b warned) int { return strings.Compare(a.text, b.text) }
	slices.SortFunc(all, byText)
	slices.SortFunc(others, byText)
	shown := min(len(others), maxWarnings)
	more = len(others) - shown + w.leftOut
	w.received, w.leftOut = nil, 0
	return append(all, others[:shown]...), more
}

func joinTitles(text string, titles []string) string {
	switch n := len(titles) - maxLinesNamed; {
	case len(titles) == 1 && titles[0] == "":
		return text
	case len(titles) == 1:
		return titles[0] + ": " + text
	case n > 0:
		return fmt.Sprintf("%s (%s and %d more)", text, strings.Join(titles[:maxLinesNamed], ", "), n)
	}
	return text + " (" + strings.Join(titles, ", ") + ")"
}

type mapper interface {
	RESTMapping(kind schema.GroupKind, versions ...string) (*meta.RESTMapping, error)
}

type Loader struct {
	cfg      Config
	typed    versioned.Interface
	dynamic  dynamic.Interface
	mapping  mapper
	warnings *warnings
	reports  reports
	report   sync.Mutex
	workers  int
	setSlots chan struct{}

	scopes       map[string]*scope
	scopeOrder   []*scope
	appliedZones map[types.NamespacedName]bool
	paths        map[*unstructured.Unstructured]string
	priors       priors
	planned      []*unstructured.Unstructured // by a dry run of zone files, in Zones that it makes
}

func newLoader(cfg Config, typed versioned.Interface, any dynamic.Interface, mapping mapper, received *warnings) *Loader {
	cfg.FieldManager, cfg.Interval = cmp.Or(cfg.FieldManager, FieldManager), cmp.Or(cfg.Interval, defaultInterval)
	return &Loader{cfg: cfg, typed: typed, dynamic: any, mapping: mapping, warnings: received, workers: maxWorkers,
		scopes: make(map[string]*scope), appliedZones: make(map[types.NamespacedName]bool),
		paths: make(map[*unstructured.Unstructured]string), setSlots: make(chan struct{}, rrsets.MaxSets)}
}

func (l *Loader) printf(format string, arguments ...any) {
	if l.cfg.Report != nil {
		l.report.Lock()
		defer l.report.Unlock()
		l.cfg.Report(fmt.Sprintf(format, arguments...))
	}
}

func (l *Loader) showPlan(c Change) {
	if l.cfg.Plan != nil {
		l.report.Lock()
		defer l.report.Unlock()
		l.cfg.Plan(c)
	}
}

func (l *Loader) createOptions() metav1.CreateOptions {
	return metav1.CreateOptions{FieldManager: l.cfg.FieldManager, DryRun: l.dryRun()}
}

func (l *Loader) dryRun() []string {
	if l.cfg.DryRun {
		return []string{metav1.DryRunAll}
	}
	return nil
}

// ReadText reads a whole source, and reports a long wait.
func (l *Loader) ReadText(ctx context.Context, name string, read func() ([]byte, error)) ([]byte, error) {
	type answer struct {
		text []byte
		err  error
	}
	answered := make(chan answer, 1)
	go func() {
		text, err := read()
		answered <- answer{text, err}
	}()
	slow := time.NewTimer(l.cfg.Interval)
	defer slow.Stop()
	for {
		select {
		case a := <-answered:
			return a.text, a.err
		case <-slow.C:
			l.printf("waiting for the end of %s; a pipe or terminal ends when its writer closes it", name)
		case <-ctx.Done():
			return nil, context.Cause(ctx)
		}
	}
}

const pageSize = 1000

func EachItem[L, T runtime.Object](ctx context.Context, list func(context.Context, metav1.ListOptions) (L, error),
	options metav1.ListOptions, do func(T) error) error {
	pages := pager.New(func(ctx context.Context, options metav1.ListOptions) (runtime.Object, error) {
		return list(ctx, options)
	})
	pages.PageSize = pageSize
	return pages.EachListItem(ctx, options, func(o runtime.Object) error { return do(o.(T)) })
}

// OpenEntries returns a zone as a master file with absolute names. The caller closes it.
func OpenEntries(ctx context.Context, client versioned.Interface, zone types.NamespacedName) (io.ReadCloser, error) {
	text, err := client.KubizoneV1alpha1().RESTClient().Get().Namespace(zone.Namespace).Resource("zones").Name(zone.Name).
		SubResource("entries").Param("format", v1alpha1.FormatText).Stream(ctx)
	if err != nil {
		return nil, fmt.Errorf("entries of zone %s: %w", zone, err)
	}
	return text, nil
}

// ParseZone parses the name of a Zone object, NAMESPACE/NAME or, in the given namespace, NAME.
func ParseZone(text, namespace string) (types.NamespacedName, error) {
	zone := types.NamespacedName{Namespace: namespace, Name: text}
	if before, after, found := strings.Cut(text, "/"); found {
		zone = types.NamespacedName{Namespace: before, Name: after}
	}
	if wrong := validation.IsDNS1123Label(zone.Namespace); len(wrong) > 0 {
		return zone, fmt.Errorf("%q: namespace: %s", text, strings.Join(wrong, ", "))
	}
	if wrong := validation.IsDNS1123Subdomain(zone.Name); len(wrong) > 0 {
		return zone, fmt.Errorf("%q: %q is not the name of a Zone object; write NAMESPACE/NAME or NAME, such as "+
			"platform/example-org: %s", text, zone.Name, strings.Join(wrong, ", "))
	}
	return zone, nil
}
