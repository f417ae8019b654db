// Copyright The Kubizone Authors.
// SPDX-License-Identifier: Apache-2.0

package console

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strings"

	"k8s.io/client-go/rest"

	"kubi.zone/kubizone/pkg/client/lint"
	"kubi.zone/kubizone/pkg/client/load"
	"kubi.zone/kubizone/pkg/client/plan"
)

const maxFiles = 64

type planPage struct {
	Text, Zone string
	Asked      bool
	Sections   []planSection
	Summary    string
	Problem    string
}

type planSection struct {
	plan.Section
	Rows []diffLine
}

// loadPlan dry-runs the manifests or zone files of the form. With a Zone the texts are zone files. A failed text is the
// Problem of the page, beside the plan of the others.
func loadPlan(r *reading, request *http.Request) (any, error) {
	text := strings.ReplaceAll(request.PostForm.Get("text"), "\r\n", "\n") // browsers send CRLF
	page := &planPage{Text: text, Zone: strings.TrimSpace(request.PostForm.Get("zone")), Asked: request.Method == http.MethodPost}
	if !page.Asked {
		return page, nil
	}
	texts, err := textsOf(request, page)
	if err != nil {
		page.Problem = err.Error()
		return page, nil
	}
	of, err := r.planTexts(request.Context(), page.Zone, texts)
	if err != nil {
		page.Problem = err.Error()
	}
	// Nothing could be planned, for example for an invalid Zone. Otherwise an error leaves an incomplete plan to show.
	if of == nil {
		return page, nil
	}
	page.Summary = of.Summary()
	for _, section := range of.Sections() {
		one := planSection{Section: section}
		for _, line := range section.Lines {
			kind := ""
			// Notes have no sign, and their first letter could be any.
			if section.IsDiff {
				kind = map[byte]string{'+': "plus", '-': "minus", '~': "tilde"}[line[0]]
			}
			one.Rows = append(one.Rows, diffLine{Kind: kind, Text: line})
		}
		page.Sections = append(page.Sections, one)
	}
	return page, nil
}

// planTexts plans manifests or, with a Zone, zone files.
func (r *reading) planTexts(ctx context.Context, zone string, texts []plan.Text) (*plan.Plan, error) {
	// The plan sets a rate of its own in the configuration.
	with := load.Config{Client: rest.CopyConfig(r.config), Namespace: r.own, FieldManager: load.ImportManager, Judge: lint.Refusals}
	if zone == "" {
		return plan.OfManifests(ctx, with, texts)
	}
	id, err := load.ParseZone(zone, r.own)
	if err != nil {
		return nil, fmt.Errorf("Zone %w", err)
	}
	return plan.OfZoneFiles(ctx, with, load.Target{Zone: id, Namespace: id.Namespace}, texts)
}

// textsOf returns the uploaded files, without empty ones, and the text of the form. An error names the limit or the
// missing input.
func textsOf(r *http.Request, page *planPage) (texts []plan.Text, err error) {
	if r.MultipartForm != nil {
		headers := r.MultipartForm.File["files"]
		if len(headers) > maxFiles {
			return nil, fmt.Errorf("%d files, more than %d: kubectl kubizone plan -f reads directories", len(headers), maxFiles)
		}
		for _, header := range headers {
			file, err := header.Open()
			if err != nil {
				return nil, err
			}
			content, err := io.ReadAll(file)
			if closed := file.Close(); cmp.Or(err, closed) != nil {
				return nil, cmp.Or(err, closed)
			}
			// Browsers send an empty file for a field without a choice.
			if len(content) > 0 {
				texts = append(texts, plan.Text{Name: header.Filename, Content: content})
			}
		}
	}
	if strings.TrimSpace(page.Text) != "" {
		texts = append(texts, plan.Text{Name: "text", Content: []byte(page.Text)})
	}
	if len(texts) == 0 {
		return nil, errors.New("choose files, or write a manifest or a zone file")
	}
	return texts, nil
}
