// Copyright The Kubizone Authors.
// SPDX-License-Identifier: Apache-2.0

package direct

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/conversion/queryparams"
	"k8s.io/apimachinery/pkg/runtime"
	auditinternal "k8s.io/apiserver/pkg/apis/audit"
	"k8s.io/apiserver/pkg/audit"
	"k8s.io/apiserver/pkg/authentication/user"
	"k8s.io/apiserver/pkg/authorization/authorizer"
)

const (
	decisionKey = "authorization.k8s.io/decision"
	reasonKey   = "authorization.k8s.io/reason"
)

// beginAudit begins the audit event of the write, unless an earlier Admit has. The result is the context of the event.
func (h *Handler) beginAudit(ctx context.Context, w *Write, asked authorizer.AttributesRecord) (context.Context, error) {
	// Admit runs again if the object has changed before the commit. The item keeps its single event.
	if w.audited != nil {
		return w.audited, nil
	}
	if h.AuditSink == nil || h.AuditPolicy == nil {
		return ctx, nil
	}
	as := asked.User
	if by := impersonatorOf(w, as); by != nil {
		asked.User = by
	}

	// The policy decides by the user who sent the request, as for single requests with kubectl --as.
	rule := h.AuditPolicy.EvaluatePolicyRule(asked)
	audit.ObservePolicyLevel(ctx, rule.Level)
	if rule.Level == auditinternal.LevelNone {
		return ctx, nil
	}

	ctx = audit.WithAuditContext(ctx)
	event := audit.AuditContextFrom(ctx)
	if err := event.Init(rule, h.AuditSink); err != nil {
		return ctx, fmt.Errorf("failed to initialize audit context: %w", err)
	}

	// The event of an item has the address, headers and audit ID of the change set's request.
	from := &http.Request{}
	if w.Request != nil {
		from.RemoteAddr, from.Header = w.Request.RemoteAddr, w.Request.Header
		id, _ := audit.AuditIDFrom(w.Request.Context())
		audit.WithAuditID(ctx, id)
	}

	query, err := queryparams.Convert(&w.Options)
	if err != nil {
		return ctx, err
	}
	from.URL = &url.URL{Path: asked.Path, RawQuery: query.Encode()}
	audit.LogRequestMetadata(ctx, from, time.Now(), asked)
	if asked.User != as {
		audit.LogImpersonatedUser(ctx, as, "")
	}

	if !event.ProcessEventStage(ctx, auditinternal.StageRequestReceived) {
		audit.ApiserverAuditDroppedCounter.WithContext(ctx).Inc()
		return ctx, errors.New("failed to store audit event")
	}
	w.audited = ctx
	return ctx, nil
}

// auditPanic ends the audit event if Admit panics. The caller gets the panic.
func (w *Write) auditPanic() {
	why := recover()
	if why == nil {
		return
	}
	if ctx := w.audited; ctx != nil {
		event := audit.AuditContextFrom(ctx)
		event.SetEventResponseStatus(&metav1.Status{Code: http.StatusInternalServerError, Status: metav1.StatusFailure,
			Reason: metav1.StatusReasonInternalError, Message: fmt.Sprintf("APIServer panic'd: %v", why)})
		event.ProcessEventStage(ctx, auditinternal.StagePanic)
		w.audited = nil
	}
	panic(why)
}

// EndAudit ends the audit event with the code and answer of the write, after the commit.
func (h *Handler) EndAudit(w *Write, code int, answer runtime.Object) {
	if ctx := w.audited; ctx != nil {
		event := audit.AuditContextFrom(ctx)
		audit.LogResponseObject(ctx, answer, h.Resource.GroupVersion(), h.Serializer)
		event.SetEventResponseStatusCode(int32(code))
		event.ProcessEventStage(ctx, auditinternal.StageResponseComplete)
	}
}

// impersonatorOf returns the user who sent the request, if as is impersonated, and otherwise nil.
func impersonatorOf(w *Write, as user.Info) user.Info {
	if w.Request == nil || as == nil {
		return nil
	}
	event := audit.AuditContextFrom(w.Request.Context())
	if !event.Enabled() {
		return nil
	}
	// An UpdateKey acts as a separate user, without impersonation.
	if impersonated := event.GetEventImpersonatedUser(); impersonated == nil || impersonated.Username != as.GetName() {
		return nil
	}
	by := event.GetEventUser()
	extra := map[string][]string{}
	for key, values := range by.Extra {
		extra[key] = values
	}
	return &user.DefaultInfo{Name: by.Username, UID: by.UID, Groups: by.Groups, Extra: extra}
}
