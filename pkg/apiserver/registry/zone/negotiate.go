// Copyright The Kubizone Authors.
// SPDX-License-Identifier: Apache-2.0

package zone

import (
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strconv"

	"github.com/munnerz/goautoneg"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apiserver/pkg/endpoints/handlers/responsewriters"

	"kubi.zone/kubizone/api/kubizone/v1alpha1"
)

const (
	mediaJSON = "application/json"
	// mediaText is a master file (RFC 1035 §5, RFC 4027).
	mediaText = "text/dns"
)

// negotiateFormat returns the format of an answer: by the query parameter format, else the first clause of Accept that
// is offered, else JSON. The errors are 400 and 406.
func negotiateFormat(query, accept string, offered ...string) (string, error) {
	if query != "" {
		if slices.Contains(offered, query) {
			return query, nil
		}
		return "", apierrors.NewBadRequest(fmt.Sprintf("query parameter format: %q is none of %q", query, offered))
	}
	if accept == "" {
		return v1alpha1.FormatJSON, nil
	}
	for _, clause := range goautoneg.ParseAccept(accept) {
		// A weight of 0 excludes (RFC 9110 §12.4.2).
		if format := formatOf(clause); clause.Q > 0 && slices.Contains(offered, format) {
			return format, nil
		}
	}
	var media []string
	for _, format := range offered {
		// A Table is JSON with parameters, and not a media type of its own.
		if format != v1alpha1.FormatTable {
			media = append(media, mediaOf(format))
		}
	}
	err := apierrors.NewGenericServerResponse(http.StatusNotAcceptable, "get", v1alpha1.Resource("zones"), "", "", 0, true)
	err.ErrStatus.Reason = metav1.StatusReasonNotAcceptable
	err.ErrStatus.Message = fmt.Sprintf("none of Accept: %s is offered here, only %q", accept, media)
	return "", err
}

// formatOf returns the format that a clause of Accept asks for, or "". Only a Table of meta.k8s.io/v1 has parameters.
func formatOf(clause goautoneg.Accept) string {
	media, as := clause.Type+"/"+clause.SubType, clause.Params["as"]
	switch {
	// kubectl asks for this first, and for application/json as a last resort.
	case [...]string{media, as, clause.Params["v"], clause.Params["g"]} == [...]string{mediaJSON, "Table", "v1", metav1.GroupName}:
		return v1alpha1.FormatTable
	case as != "":
		return ""
	}
	switch media {
	case mediaJSON, "application/*", "*/*":
		return v1alpha1.FormatJSON
	case mediaText, "text/*":
		return v1alpha1.FormatText
	}
	return ""
}

func mediaOf(format string) string {
	if format == v1alpha1.FormatText {
		return mediaText
	}
	return mediaJSON
}

// writeError answers with a Status, as the generic apiserver does. A connect handler has to encode the Status itself.
func writeError(w http.ResponseWriter, err error) {
	status := responsewriters.ErrorToAPIStatus(err)
	var api apierrors.APIStatus
	// client-go waits as long as the header says.
	if errors.As(err, &api) && status.Details != nil && status.Details.RetryAfterSeconds > 0 {
		w.Header().Set("Retry-After", strconv.Itoa(int(status.Details.RetryAfterSeconds)))
	}
	status.TypeMeta = metav1.TypeMeta{Kind: "Status", APIVersion: "v1"}
	body, err := json.Marshal(status)
	if err != nil {
		http.Error(w, "a status that cannot be encoded", http.StatusInternalServerError)
		return
	}
	w.Header().Set("Content-Type", mediaJSON)
	w.Header().Set("Cache-Control", "no-cache, private")
	w.WriteHeader(int(status.Code))
	_, _ = w.Write(body)
}
