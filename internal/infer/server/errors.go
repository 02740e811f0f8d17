package server

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"

	"treeline/internal/infer/engine"
	"treeline/internal/wire/openai"
)

// apiError is a refusal in OpenAI's form. The zero kind is "invalid_request_error".
type apiError struct {
	status  int
	message string
	kind    string
	param   string
	code    string
}

// Error implements error.
func (e *apiError) Error() string { return e.message }

// invalid is a 400 about one member of the request.
func invalid(param, format string, args ...any) *apiError {
	return &apiError{status: http.StatusBadRequest, param: param, message: fmt.Sprintf(format, args...)}
}

func (e *apiError) body() []byte {
	out := openai.Error{Message: e.message, Type: e.kind}
	if out.Type == "" {
		out.Type = "invalid_request_error"
	}
	if e.param != "" {
		out.Param = &e.param
	}
	if e.code != "" {
		out.Code = e.code
	}
	b, err := json.Marshal(map[string]openai.Error{"error": out})
	if err != nil {
		panic("an error of strings does not encode: " + err.Error())
	}
	return b
}

// fail writes an error answer.
func fail(w http.ResponseWriter, err error) {
	e := asAPIError(err)
	h := w.Header()
	h.Set("Content-Type", "application/json")
	if e.status == http.StatusServiceUnavailable {
		h.Set("Retry-After", "1")
	}
	w.WriteHeader(e.status)
	w.Write(append(e.body(), '\n'))
}

// asAPIError gives every error of the engine its status.
func asAPIError(err error) *apiError {
	var api *apiError
	var prompt *engine.PromptError
	switch {
	case errors.As(err, &api):
		return api
	case errors.As(err, &prompt):
		return &apiError{status: http.StatusBadRequest, message: err.Error(), code: "context_length_exceeded"}
	case errors.Is(err, engine.ErrBusy):
		return &apiError{status: http.StatusServiceUnavailable, message: err.Error(), kind: "server_error", code: "overloaded"}
	case errors.Is(err, engine.ErrMemory):
		return &apiError{status: http.StatusServiceUnavailable, message: err.Error(), kind: "server_error", code: "out_of_memory"}
	case errors.Is(err, engine.ErrClosed):
		return &apiError{status: http.StatusServiceUnavailable, message: err.Error(), kind: "server_error", code: "shutting_down"}
	case errors.Is(err, context.Canceled), errors.Is(err, context.DeadlineExceeded):
		return &apiError{status: 499, message: "the request was cancelled", kind: "server_error", code: "cancelled"}
	default:
		return &apiError{status: http.StatusInternalServerError, message: err.Error(), kind: "server_error"}
	}
}
