// Copyright The Kubizone Authors.
// SPDX-License-Identifier: Apache-2.0

package console

import (
	"context"
	"encoding/json"
	"net/http"
	"strings"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/rest"

	"kubi.zone/kubizone/api/client/clientset/versioned"
	"kubi.zone/kubizone/api/kubizone/v1alpha1"
)

type mayPage struct {
	Namespace, Name, Type, Data, View string

	Asked    bool
	State    state
	Answer   string
	Review   *v1alpha1.NameReviewStatus
	Warnings []string
	Lack     *lack
	Commands []string
}

// loadMay answers the question whether a namespace may have a name. The server reviews the name. With data, a dry run
// of the Record decides as well, and admission policies count.
func loadMay(r *reading, request *http.Request) (any, error) {
	of := func(field string) string { return strings.TrimSpace(request.PostForm.Get(field)) }
	page := &mayPage{Namespace: of("namespace"), Name: of("name"), Type: of("type"), Data: of("data"), View: of("view"),
		Asked: request.Method == http.MethodPost}
	// The form is empty, with the namespace of the context.
	if !page.Asked {
		page.Namespace = r.own
		return page, nil
	}
	page.Commands = page.listCommands()
	review := &v1alpha1.NameReview{Spec: v1alpha1.NameReviewSpec{Name: page.Name, Type: page.Type, View: page.View}}
	review, err := r.api.NameReviews(page.Namespace).Create(request.Context(), review, metav1.CreateOptions{})
	switch {
	case apierrors.IsForbidden(err):
		// A NameReview needs the right to create Records in the namespace (S14.1).
		page.Lack = lackOf(err, "create", "records", page.Namespace)
		return page, nil
	case err != nil:
		page.State, page.Answer = state{"fails", "no"}, err.Error()
		return page, nil
	}
	page.Review, page.Warnings = &review.Status, review.Status.Warnings
	page.State, page.Answer = state{"ok", "yes"}, "The zone takes the Record by its rule."
	// The zone refuses the name already, so a dry run of the data would add nothing.
	if !page.Review.Allowed {
		page.State, page.Answer = state{"fails", "no"}, page.Review.Reason
		return page, nil
	}
	if page.Data != "" {
		if err := r.dryRun(request.Context(), page); err != nil {
			page.State, page.Answer = state{"fails", "no"}, err.Error()
		}
	}
	return page, nil
}

// dryRun creates the Record by a server-side dry run, with the page's Warnings instead of the review's. The error is
// the server's refusal.
func (r *reading) dryRun(ctx context.Context, page *mayPage) error {
	config := rest.CopyConfig(r.config)
	config.WarningHandlerWithContext = &warned{page}
	objects, err := versioned.NewForConfig(config)
	if err != nil {
		return err
	}
	page.Warnings = nil
	_, err = objects.KubizoneV1alpha1().Records(page.Namespace).Create(ctx, page.makeRecord(), metav1.CreateOptions{
		DryRun: []string{metav1.DryRunAll}})
	return err
}

func (p *mayPage) makeRecord() *v1alpha1.Record {
	return &v1alpha1.Record{TypeMeta: metav1.TypeMeta{APIVersion: v1alpha1.SchemeGroupVersion.String(), Kind: "Record"},
		ObjectMeta: metav1.ObjectMeta{GenerateName: "may-"},
		Spec:       v1alpha1.RecordSpec{DomainName: strings.TrimSuffix(p.Name, ".") + ".", Type: p.Type, RData: p.Data, View: p.View}}
}

// listCommands returns the commands that ask the same: may for the name, and with data kubectl's dry run of the Record.
func (p *mayPage) listCommands() []string {
	may := []string{"kubectl", "kubizone", "may", "create", p.Name, p.Type, "-n", p.Namespace}
	if p.View != "" {
		may = append(may, "--view", p.View)
	}
	if p.Data == "" {
		return []string{command(may...)}
	}
	record, err := json.Marshal(p.makeRecord())
	if err != nil {
		return []string{command(may...)}
	}
	return []string{command(may...), "printf %s " + quote(string(record)) + " | " +
		command("kubectl", "create", "--dry-run=server", "-n", p.Namespace, "-f", "-")}
}

type warned struct{ page *mayPage }

func (w *warned) HandleWarningHeaderWithContext(_ context.Context, _ int, _, text string) {
	w.page.Warnings = append(w.page.Warnings, text)
}
