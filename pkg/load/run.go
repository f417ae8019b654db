// Copyright The Kubizone Authors.
// SPDX-License-Identifier: Apache-2.0

package load

import (
	"cmp"
	"context"
	"fmt"
	"io"
	"sync"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/discovery"
	"k8s.io/client-go/discovery/cached/memory"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/restmapper"
	"k8s.io/client-go/tools/pager"

	"kubi.zone/kubizone/api/client/clientset/versioned"
	"kubi.zone/kubizone/api/kubizone/v1alpha1"
	"kubi.zone/kubizone/pkg/rrsets"
)

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

// New makes a Loader. It does not connect to the server yet.
func New(cfg Config) (*Loader, error) {
	heard := &warnings{}
	client := rest.CopyConfig(cfg.Client)
	client.QPS = -1 // the bound is maxWorkers
	client.WarningHandlerWithContext = heard
	binary := rest.CopyConfig(client)
	// JSON takes a tenth more of the time that a Record needs in the server and in this process.
	binary.ContentType, binary.AcceptContentTypes = runtime.ContentTypeProtobuf, runtime.ContentTypeProtobuf+","+runtime.ContentTypeJSON
	typed, err := versioned.NewForConfig(binary)
	if err != nil {
		return nil, fmt.Errorf("load: %w", err)
	}
	any, err := dynamic.NewForConfig(client)
	if err != nil {
		return nil, fmt.Errorf("load: %w", err)
	}
	asked, err := discovery.NewDiscoveryClientForConfig(client)
	if err != nil {
		return nil, fmt.Errorf("load: %w", err)
	}
	// It asks the server for its kinds when the first one is needed.
	mapping := restmapper.NewDeferredDiscoveryRESTMapper(memory.NewMemCacheClient(asked))
	return newLoader(cfg, typed, any, mapping, heard), nil
}

func newLoader(cfg Config, typed versioned.Interface, any dynamic.Interface, mapping mapper, heard *warnings) *Loader {
	cfg.FieldManager, cfg.Interval = cmp.Or(cfg.FieldManager, FieldManager), cmp.Or(cfg.Interval, defaultInterval)
	return &Loader{cfg: cfg, typed: typed, dynamic: any, mapping: mapping, warnings: heard, workers: maxWorkers,
		scopes: make(map[string]*scope), applied: make(map[types.NamespacedName]bool),
		paths: make(map[*unstructured.Unstructured]string), sets: make(chan struct{}, rrsets.MaxSets)}
}

// Load loads one source. Refusals, and files that cannot be read or hold no zone, are reported and counted. An error
// ends the whole run: the server does not answer, or ctx is done.
func (l *Loader) Load(ctx context.Context, source Source) (Result, error) {
	files, err := source.Files()
	if err != nil {
		return Result{}, err
	}
	var result Result
	if len(files.Manifests) > 0 {
		one, err := l.loadManifests(ctx, source, files.Manifests)
		l.reportHidden()
		result.Add(one)
		if err != nil {
			return result, err
		}
	}
	for _, path := range files.Zones {
		one, err := l.loadZoneFile(ctx, path, source)
		l.reportHidden()
		result.Add(one)
		if err := l.reportFailed(ctx, &result, path, err); err != nil {
			return result, err
		}
	}
	return result, nil
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
