// Copyright The Kubizone Authors.
// SPDX-License-Identifier: Apache-2.0

package zone

import (
	"context"
	"fmt"
	"net/http"
	"strings"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"kubi.zone/kubizone/api/kubizone/v1alpha1"
	"kubi.zone/kubizone/pkg/dns"
	"kubi.zone/kubizone/pkg/dns/zonefile"
	"kubi.zone/kubizone/pkg/zone/law/content"
)

// prepareEntries checks a request for zones/entries, and finds the snapshot to answer from. It returns the function
// that writes the answer. The snapshot never changes, so the client may read slowly.
func (s *streams) prepareEntries(ctx context.Context, id string, query *v1alpha1.ZoneEntriesOptions, accept string) (
	func(http.ResponseWriter) error, error) {
	definition, err := formOf(query.Form)
	if err != nil {
		return nil, err
	}
	// 1. Check the query. A definition is for programs that keep a copy of the zone: JSON, and always whole.
	offered := []string{v1alpha1.FormatJSON}
	if !definition {
		offered = append(offered, v1alpha1.FormatText, v1alpha1.FormatTable)
	} else if query.Limit != 0 || query.Continue != "" || query.Name != "" || query.Type != "" || query.Sources ||
		query.Search != "" {
		return nil, apierrors.NewBadRequest("form=definition is always the whole of a zone: leave out limit, continue, name, " +
			"type, search and sources")
	}
	format, err := negotiateFormat(query.Format, accept, offered...)
	if err != nil {
		return nil, err
	}
	if query.Sources {
		if format == v1alpha1.FormatText {
			return nil, apierrors.NewBadRequest("a master file has no place for sources: ask for JSON or a table")
		}
		// Sources name Records of all namespaces, which a reader of the zone may not know (S7.14).
		if err := s.mayReadSources(ctx); err != nil {
			return nil, err
		}
	}
	// 2. Find the snapshot, at the Zone's serial in etcd or later.
	zone, err := s.getZone(ctx, id)
	if err != nil {
		return nil, err
	}
	if err := refusePending(zone); err != nil {
		return nil, err
	}
	snapshot, from, err := s.snapshotFor(ctx, zone, query.Continue)
	if err != nil {
		return nil, err
	}
	if definition {
		return func(w http.ResponseWriter) error { return writeDefinition(w, zone, snapshot) }, nil
	}
	// 3. Choose the entries and the writer.
	page, err := newPage(snapshot, zone, query, from)
	if err != nil {
		return nil, err
	}
	var sources *recordSources
	if query.Sources {
		sources = &recordSources{ctx: ctx, sources: s.Sources, zone: zone, apex: snapshot.Header().FQDN}
	}
	switch format {
	case v1alpha1.FormatText:
		return func(w http.ResponseWriter) error { return writeText(w, snapshot, page) }, nil
	case v1alpha1.FormatTable:
		return func(w http.ResponseWriter) error { return writeTable(w, zone, page, sources) }, nil
	}
	return func(w http.ResponseWriter) error { return writeEntries(w, zone, page, sources) }, nil
}

// snapshotFor returns the newest snapshot for a first page, or else the snapshot of the continue token, so that all
// pages have the same serial.
func (s *streams) snapshotFor(ctx context.Context, zone *v1alpha1.Zone, token string) (Snapshot, continuation, error) {
	if token == "" {
		snapshot, err := s.waitForSnapshot(ctx, zone)
		return snapshot, continuation{}, err
	}
	from, err := parseContinuation(token)
	if err != nil {
		return nil, continuation{}, err
	}
	const restart = "the first page, without continue"
	// The Zone was deleted and created again since the first page. Its serials go on, but its entries are others.
	if from.UID != string(zone.UID) {
		return nil, continuation{}, expiredError(zone, from.Serial, restart)
	}
	snapshot, err := s.Views.SnapshotAt(ctx, zone, from.Serial)
	return snapshot, from, ifNotHeld(err, expiredError(zone, from.Serial, restart))
}

func entriesHead(zone *v1alpha1.Zone, snapshot Snapshot) v1alpha1.ZoneEntries {
	return v1alpha1.ZoneEntries{
		TypeMeta: metav1.TypeMeta{Kind: "ZoneEntries", APIVersion: v1alpha1.SchemeGroupVersion.String()},
		FQDN:     snapshot.Header().FQDN.String(), View: zone.Status.View, Serial: int64(snapshot.Serial()), Hash: snapshot.Hash(),
	}
}

// writeEntries writes a page of entries as JSON. sources is nil unless the client has asked for the Records behind each
// entry.
func writeEntries(w http.ResponseWriter, zone *v1alpha1.Zone, page *page, sources *recordSources) error {
	list := beginList(w, entriesHead(zone, page.snapshot), "entries")
	for entry := range page.eachEntry() {
		item := apiEntry(entry)
		var err error
		if item.Sources, err = sources.sourcesOf(entry); err != nil {
			return err
		}
		if !list.writeItem(item) {
			break
		}
	}
	meta := metaOf(zone)
	meta.Continue = page.nextToken
	return list.finishList(meta)
}

// writeDefinition writes the RRsets as defined, with relative names, the header and both hashes. A client can prove
// status.hash by them (S6.7).
func writeDefinition(w http.ResponseWriter, zone *v1alpha1.Zone, snapshot Snapshot) error {
	object := entriesHead(zone, snapshot)
	object.ContentGeneration = int64(snapshot.N())
	object.ContentState = snapshot.State().String()
	object.Header = apiHeader(snapshot.Header())
	list := beginList(w, object, "rrsets")
	for set := range snapshot.RRsets() {
		if !list.writeItem(v1alpha1.RRset{Owner: set.Owner.String(), Type: set.Type.String(), TTL: set.TTL.String(), Data: set.Data}) {
			break
		}
	}
	return list.finishList(metaOf(zone))
}

// writeText writes a page as a master file. Zone, serial, hash and the continue token are in comments, so that name
// servers read the file as is.
func writeText(w http.ResponseWriter, snapshot Snapshot, page *page) error {
	stream := newStream(w, v1alpha1.FormatText)
	stream.writeComment(fmt.Sprintf("zone %s serial %d hash %s", snapshot.Header().FQDN, snapshot.Serial(), snapshot.Hash()))
	if _, err := zonefile.Write(stream, page.eachEntry()); err != nil {
		return err
	}
	if page.nextToken != "" {
		stream.writeComment("continue " + page.nextToken)
	}
	return stream.Flush()
}

var entryColumns = []metav1.TableColumnDefinition{
	{Name: "Name", Type: "string", Format: "name", Description: "The absolute owner name."},
	{Name: "TTL", Type: "integer", Format: "int64", Description: "The time to live in seconds."},
	{Name: "Class", Type: "string", Description: "The DNS class."},
	{Name: "Type", Type: "string", Description: "The RR type."},
	{Name: "Data", Type: "string", Description: "The data in presentation format."},
}

var sourceColumn = metav1.TableColumnDefinition{Name: "Sources", Type: "string", Description: "Namespace and name of the Records that " +
	"define the entry."}

// writeTable writes a page as a Table, for kubectl and the console. With sources it has a further column.
func writeTable(w http.ResponseWriter, zone *v1alpha1.Zone, page *page, sources *recordSources) error {
	columns := entryColumns
	if sources != nil {
		// The full slice expression copies: an append in place would change entryColumns for other requests.
		columns = append(columns[:len(columns):len(columns)], sourceColumn)
	}
	list := beginTable(w, columns)
	for entry := range page.eachEntry() {
		cells := []any{entry.Name.String(), entry.TTL, string(v1alpha1.ClassIN), entry.Type.String(), entry.Data}
		if sources != nil {
			refs, err := sources.sourcesOf(entry)
			if err != nil {
				return err
			}
			var names []string
			for _, ref := range refs {
				names = append(names, ref.Namespace+"/"+ref.Name)
			}
			cells = append(cells, strings.Join(names, ","))
		}
		if !list.writeRow(zone, entry.Name.String(), cells...) {
			break
		}
	}
	return list.finishList(v1alpha1.ZoneViewMeta{Continue: page.nextToken})
}

func beginTable(w http.ResponseWriter, columns []metav1.TableColumnDefinition) *list {
	return beginList(w, struct {
		metav1.TypeMeta
		Columns []metav1.TableColumnDefinition `json:"columnDefinitions"`
	}{metav1.TypeMeta{Kind: "Table", APIVersion: metav1.SchemeGroupVersion.String()}, columns}, "rows")
}

// writeRow writes a row for kubectl, which prints no row without an object. The object's name is the owner name.
func (l *list) writeRow(zone *v1alpha1.Zone, name string, cells ...any) bool {
	row := tableRow{Cells: cells}
	row.Object.TypeMeta = metav1.TypeMeta{Kind: "PartialObjectMetadata", APIVersion: metav1.SchemeGroupVersion.String()}
	row.Object.Metadata = v1alpha1.ZoneViewMeta{Name: name, Namespace: zone.Namespace}
	return l.writeItem(row)
}

type tableRow struct {
	Cells  []any `json:"cells"`
	Object struct {
		metav1.TypeMeta
		Metadata v1alpha1.ZoneViewMeta `json:"metadata"`
	} `json:"object"`
}

func apiEntry(entry dns.Entry) v1alpha1.Entry {
	return v1alpha1.Entry{FQDN: entry.Name.String(), Type: entry.Type.String(), Class: string(v1alpha1.ClassIN), TTL: int64(entry.TTL),
		RData: entry.Data}
}

func apiHeader(header content.Header) *v1alpha1.ZoneHeader {
	out := &v1alpha1.ZoneHeader{
		FQDN: header.FQDN.String(), TTL: int64(header.TTL), Refresh: int64(header.Refresh), Retry: int64(header.Retry),
		Expire:                int64(header.Expire),
		NegativeResponseCache: int64(header.NegativeResponseCache), PrimaryNameServer: header.PrimaryNameServer, Contact: header.Contact,
	}
	for _, server := range header.NameServers {
		out.NameServers = append(out.NameServers, v1alpha1.NameServer{Name: server.Name, Addresses: server.Addresses})
	}
	return out
}
