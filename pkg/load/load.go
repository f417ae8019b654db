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
	"sync"
	"sync/atomic"
	"time"

	"golang.org/x/sync/errgroup"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/pager"

	"kubi.zone/kubizone/api/client/clientset/versioned"
	"kubi.zone/kubizone/api/kubizone/v1alpha1"
	"kubi.zone/kubizone/pkg/refusal"
	"kubi.zone/kubizone/pkg/rrsets"
)

// FieldManager is the default field manager of all writes. Fields that other managers changed since are told by it
// (L4).
const FieldManager = "kubizone-load"

const (
	// maxWorkers is enough concurrent writes for the server to commit those of one zone in batches.
	maxWorkers = 64

	defaultInterval = 2 * time.Second
	maxInterval     = 30 * time.Second
	// maxWarnings bounds how many different warnings are shown for one source.
	maxWarnings = 20
)

// Config is what a Loader needs.
type Config struct {
	// Client reaches the server as a user who may write Zones and Records.
	Client *rest.Config
	// Namespace takes the objects of zone files, and manifests that name none.
	Namespace string
	// FieldManager is the name under which everything is written; empty means the constant FieldManager.
	FieldManager string
	// DryRun asks the server to decide about every write and to keep none.
	DryRun bool
	// Prune has Finish remove the Records that this field manager made in an earlier run and that no source has any
	// more.
	Prune bool
	// Plan receives what each write changes, and Note what is to be said of one: its kind, as "refused" or "warning",
	// and the text; nil: Report gets the notes.
	Plan func(Change)
	Note func(kind, text string)
	// AsLastApplied has a dry run of manifests apply each object as the client that applied it last.
	AsLastApplied bool
	// PruneSelector has a dry run of manifests remove the Zones, Delegations and Records with these labels that the
	// manifests lack.
	PruneSelector string
	// HowToRemove is the next step that the report of left-over Records names; empty: to delete them.
	HowToRemove string
	// ForceConflicts overwrites fields that other managers have changed (L4).
	ForceConflicts bool
	// Interval is the time before the first line of progress, 0 means 2 s; before each further line it is twice as
	// long, up to maxInterval, so that what takes minutes does not fill the screen.
	Interval time.Duration
	// Report receives progress, refusals and results for people; texts of sources stand in them as they are. nil drops
	// them.
	Report func(line string)
}

// Result counts objects.
type Result struct {
	// Written were created or changed.
	Written int `json:"written"`
	// Present existed and were equal.
	Present int `json:"present"`
	// Removed are Records that no source has any more.
	Removed int `json:"removed"`
	// Left were changed by another field manager and stay so (L4).
	Left int `json:"left"`
	// NotTaken are lines of zone files, of SOA and NS, that differ from the fields of the Zone, which stays as it is,
	// and fields and objects of custom resources that are no zone data.
	NotTaken int `json:"notTaken"`
	// Refused are the lines of zone files and the objects of manifests that were not loaded.
	Refused int `json:"refused"`
	// Failed are files that could not be read whole.
	Failed int `json:"failed"`
	// NotServable are zones that name servers would not load as they are now.
	NotServable int `json:"notServable"`
	// Changed are entries that a zone had as a custom resource and has no longer, or with another TTL.
	Changed int `json:"changed"`
	// Held are zones that are not delivered, because too much was removed from them at once.
	Held int `json:"held"`
}

// Add counts more objects.
func (r *Result) Add(more Result) {
	r.Written += more.Written
	r.Present += more.Present
	r.Removed += more.Removed
	r.Left += more.Left
	r.NotTaken += more.NotTaken
	r.Refused += more.Refused
	r.Failed += more.Failed
	r.NotServable += more.NotServable
	r.Changed += more.Changed
	r.Held += more.Held
}

// reportFailed reports and counts a file that failed with err. It returns an error that ends the whole run.
func (l *Loader) reportFailed(ctx context.Context, result *Result, path string, err error) error {
	switch {
	case err == nil:
		return nil
	case StopsAll(ctx, err):
		return fmt.Errorf("load %s: %w", path, err)
	}
	result.Failed++
	l.say("not loaded: %s: %v", path, err)
	return nil
}

// StopsAll reports that every other file would fail with err, too: ctx is done, the server does not answer, or it does
// not know the user.
func StopsAll(ctx context.Context, err error) bool {
	var status apierrors.APIStatus
	var unanswered *url.Error
	return ctx.Err() != nil || apierrors.IsUnauthorized(err) || !errors.As(err, &status) && errors.As(err, &unanswered)
}

// runWorkers calls do for every group, phase by phase, in at most that many goroutines, reports progress by the objects
// in them, and adds up the results. The first error ends it.
func runWorkers[T any](ctx context.Context, l *Loader, what string, workers int, phases [][][]T,
	do func(ctx context.Context, group []T) (Result, error)) (result Result, err error) {
	total := 0
	for _, group := range slices.Concat(phases...) {
		total += len(group)
	}
	var done atomic.Int64
	began := time.Now()
	pause := l.cfg.Interval
	progress := time.NewTimer(pause)
	defer progress.Stop()
	quiet := make(chan struct{})
	var told sync.WaitGroup
	told.Go(func() {
		for {
			select {
			case <-progress.C:
				now := done.Load()
				l.say("loading %s: %d of %d objects, %.0f/s", what, now, total, float64(now)/time.Since(began).Seconds())
				pause = max(pause, min(2*pause, maxInterval))
				progress.Reset(pause)
			case <-quiet:
				return
			}
		}
	})
	var mutex sync.Mutex
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
					done.Add(int64(len(group)))
				}
				return err
			})
		}
		if err = working.Wait(); err != nil {
			break
		}
	}
	close(quiet)
	told.Wait()
	return result, cmp.Or(err, context.Cause(ctx))
}

// inPhases puts groups into phases by number, and keeps their order.
func inPhases[T any](groups [][]T, phase func(group []T) int) (phases [][][]T) {
	for _, group := range groups {
		n := phase(group)
		for len(phases) <= n {
			phases = append(phases, nil)
		}
		phases[n] = append(phases[n], group)
	}
	return phases
}

// groupBy puts what has one key into one group. Groups, and what is in them, keep their order.
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

// refusalReason returns the server's message if err refuses the object that was sent (L1, L2).
func refusalReason(err error) (reason string, ok bool) {
	var status apierrors.APIStatus
	if !errors.As(err, &status) {
		return "", false
	}
	if apierrors.IsInvalid(err) || apierrors.IsForbidden(err) || apierrors.IsBadRequest(err) ||
		apierrors.IsRequestEntityTooLargeError(err) || apierrors.IsUnsupportedMediaType(err) {
		return status.Status().Message, true
	}
	return "", false
}

// waiting are the reasons of the Warnings of an object whose zone is not there.
var waiting = []string{v1alpha1.ReasonZoneNotFound, v1alpha1.ReasonNoEnclosingZone}

// subject is the object of a request, for the Warnings of its answer.
type subject struct {
	// title is shown before a Warning; "": none is.
	title string
	// answered has the reasons of Warnings that other writes of the run answer, which the server does not know.
	answered map[string]bool
	// items are the subjects of a change set.
	items []subject
}

// subjectKey is the context key of the subject of a request.
type subjectKey struct{}

// withSubject returns the context of a request for an object.
func withSubject(ctx context.Context, of subject) context.Context {
	return context.WithValue(ctx, subjectKey{}, of)
}

// withZone returns the context of a request for a Zone. Unless the run is dry, the condition Servable is reported at
// its end, and its Warnings are not.
func (l *Loader) withZone(ctx context.Context, answered map[string]bool) context.Context {
	if !l.cfg.DryRun {
		answered = alsoAnswered(answered, v1alpha1.ReasonNoNameServers, v1alpha1.ReasonNameServerWithoutAddress)
	}
	return withSubject(ctx, subject{answered: answered})
}

// alsoAnswered returns reasons with more of them.
func alsoAnswered(answered map[string]bool, reasons ...string) map[string]bool {
	all := maps.Clone(answered)
	if all == nil {
		all = map[string]bool{}
	}
	for _, reason := range reasons {
		all[reason] = true
	}
	return all
}

// warnings collects the server's Warnings, each text once.
type warnings struct {
	mutex   sync.Mutex
	reasons map[string]string // by text
}

var _ rest.WarningHandlerWithContext = (*warnings)(nil)

// HandleWarningHeaderWithContext adds one warning; 299 is the code of those that API servers make, and ours have their
// reason as agent.
func (w *warnings) HandleWarningHeaderWithContext(ctx context.Context, code int, agent string, text string) {
	if code != 299 || text == "" {
		return
	}
	of, _ := ctx.Value(subjectKey{}).(subject)
	if i, own := refusal.CutItem(text); i >= 0 && i < len(of.items) {
		of, text = of.items[i], own
	} else if i < 0 && len(of.items) == 1 {
		of = of.items[0]
	}
	if of.answered[agent] {
		return
	}
	if of.title != "" {
		text = of.title + ": " + text
	}
	w.mutex.Lock()
	defer w.mutex.Unlock()
	if w.reasons == nil {
		w.reasons = make(map[string]string)
	}
	w.reasons[text] = agent
}

// takeAll returns the collected Warnings, as texts with their reasons, and clears them; more is the number of those
// that are not shown.
func (w *warnings) takeAll() (texts []string, reasons map[string]string, more int) {
	w.mutex.Lock()
	defer w.mutex.Unlock()
	texts, reasons = slices.Sorted(maps.Keys(w.reasons)), w.reasons
	w.reasons = nil
	shown := min(len(texts), maxWarnings)
	return texts[:shown], reasons, len(texts) - shown
}

// mapper finds the resource of a kind.
type mapper interface {
	RESTMapping(kind schema.GroupKind, versions ...string) (*meta.RESTMapping, error)
}

// Loader loads sources, one after another.
type Loader struct {
	cfg      Config
	typed    versioned.Interface
	dynamic  dynamic.Interface
	mapping  mapper
	warnings *warnings
	reports  reports
	report   sync.Mutex
	// workers is how many writes are under way at a time.
	workers int
	// sets has a place for each change set that is under way.
	sets chan struct{}

	// scopes are those of this run.
	scopes     map[string]*scope
	scopeOrder []*scope
	// applied are the Zones that manifests have.
	applied map[types.NamespacedName]bool
	// paths are those that objects were read from.
	paths map[*unstructured.Unstructured]string
	// priors are what a dry run would change, and other objects of it depend on.
	priors priors
}

func newLoader(cfg Config, typed versioned.Interface, any dynamic.Interface, mapping mapper, heard *warnings) *Loader {
	cfg.FieldManager, cfg.Interval = cmp.Or(cfg.FieldManager, FieldManager), cmp.Or(cfg.Interval, defaultInterval)
	return &Loader{cfg: cfg, typed: typed, dynamic: any, mapping: mapping, warnings: heard, workers: maxWorkers,
		scopes: make(map[string]*scope), applied: make(map[types.NamespacedName]bool),
		paths: make(map[*unstructured.Unstructured]string), sets: make(chan struct{}, rrsets.MaxSets)}
}

func (l *Loader) say(format string, arguments ...any) {
	if l.cfg.Report == nil {
		return
	}
	l.report.Lock()
	defer l.report.Unlock()
	l.cfg.Report(fmt.Sprintf(format, arguments...))
}

// showPlan passes a change on to Config.Plan.
func (l *Loader) showPlan(c Change) {
	if l.cfg.Plan == nil {
		return
	}
	l.report.Lock()
	defer l.report.Unlock()
	l.cfg.Plan(c)
}

func (l *Loader) createOptions() metav1.CreateOptions {
	return metav1.CreateOptions{FieldManager: l.cfg.FieldManager, DryRun: l.dryRun()}
}

func (l *Loader) patchOptions() metav1.PatchOptions {
	return metav1.PatchOptions{FieldManager: l.cfg.FieldManager, DryRun: l.dryRun()}
}

func (l *Loader) dryRun() []string {
	if l.cfg.DryRun {
		return []string{metav1.DryRunAll}
	}
	return nil
}

// ReadText reads a whole source and ends with ctx: opening a FIFO without a writer, and reading it, blocks forever.
// name is what the report calls the source.
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
			l.say("waiting for the end of %s; a pipe or terminal ends when its writer closes it", name)
		case <-ctx.Done():
			return nil, context.Cause(ctx)
		}
	}
}

// pageSize bounds one answer of a list.
const pageSize = 1000

// EachItem calls do for every object that list, a method of a client, returns for the options, page by page.
func EachItem[L, T runtime.Object](ctx context.Context, list func(context.Context, metav1.ListOptions) (L, error),
	options metav1.ListOptions, do func(T) error) error {
	pages := pager.New(func(ctx context.Context, options metav1.ListOptions) (runtime.Object, error) {
		return list(ctx, options)
	})
	pages.PageSize = pageSize
	return pages.EachListItem(ctx, options, func(o runtime.Object) error { return do(o.(T)) })
}

// OpenEntries returns the content of a zone as a master file with absolute names. The caller closes the reader.
func OpenEntries(ctx context.Context, client versioned.Interface, zone types.NamespacedName) (io.ReadCloser, error) {
	text, err := client.KubizoneV1alpha1().RESTClient().Get().Namespace(zone.Namespace).Resource("zones").Name(zone.Name).
		SubResource("entries").Param("format", v1alpha1.FormatText).Stream(ctx)
	if err != nil {
		return nil, fmt.Errorf("entries of zone %s: %w", zone, err)
	}
	return text, nil
}
