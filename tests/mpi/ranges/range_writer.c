// What NVTX loads in place of a profiler: writes each range of the domain "nodeaware" as a line to
// the file RANGES.PID, where RANGES is in the environment. "push TEXT BYTES", "pop"; "start ID TEXT
// BYTES", "end ID". Whether beginnings and ends belong together is for its reader to find out.
#include <nvtx3/nvToolsExt.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static int one_domain;
static int another_domain;
static unsigned long long last_id;
static int depth;

static void write_line(const char* line) {
    const char* path = getenv("RANGES");
    char name[4096];
    if (path == NULL) return;
    snprintf(name, sizeof name, "%s.%d", path, (int)getpid());
    FILE* file = fopen(name, "a");
    if (file == NULL) return;
    fprintf(file, "%s\n", line);
    fclose(file);
}

static int is_ours(nvtxDomainHandle_t domain) { return (void*)domain == (void*)&one_domain; }

static nvtxDomainHandle_t create(const char* name) {
    return strcmp(name, "nodeaware") == 0 ? (nvtxDomainHandle_t)&one_domain
                                          : (nvtxDomainHandle_t)&another_domain;
}

static void write_event(const char* what, const nvtxEventAttributes_t* event) {
    char line[256];
    if (event->messageType != NVTX_MESSAGE_TYPE_ASCII ||
        event->payloadType != NVTX_PAYLOAD_TYPE_UNSIGNED_INT64) {
        write_line("wrong event");
        return;
    }
    snprintf(line, sizeof line, "%s %s %llu", what, event->message.ascii,
             (unsigned long long)event->payload.ullValue);
    write_line(line);
}

static int push(nvtxDomainHandle_t domain, const nvtxEventAttributes_t* event) {
    if (is_ours(domain)) write_event("push", event);
    return depth++;
}

static int pop(nvtxDomainHandle_t domain) {
    if (is_ours(domain)) write_line("pop");
    return --depth;
}

static nvtxRangeId_t start(nvtxDomainHandle_t domain, const nvtxEventAttributes_t* event) {
    char what[64];
    snprintf(what, sizeof what, "start %llu", ++last_id);
    if (is_ours(domain)) write_event(what, event);
    return last_id;
}

static void end(nvtxDomainHandle_t domain, nvtxRangeId_t id) {
    char line[64];
    snprintf(line, sizeof line, "end %llu", (unsigned long long)id);
    if (is_ours(domain)) write_line(line);
}

__attribute__((visibility("default"))) int
InitializeInjectionNvtx2(NvtxGetExportTableFunc_t table_of) {
    const NvtxExportTableCallbacks* callbacks =
        (const NvtxExportTableCallbacks*)table_of(NVTX_ETID_CALLBACKS);
    NvtxFunctionTable functions = NULL;
    unsigned int size = 0;
    if (callbacks == NULL ||
        !callbacks->GetModuleFunctionTable(NVTX_CB_MODULE_CORE2, &functions, &size) ||
        size <= NVTX_CBID_CORE2_DomainCreateA) {
        return 0;
    }
    *functions[NVTX_CBID_CORE2_DomainCreateA] = (NvtxFunctionPointer)create;
    *functions[NVTX_CBID_CORE2_DomainRangePushEx] = (NvtxFunctionPointer)push;
    *functions[NVTX_CBID_CORE2_DomainRangePop] = (NvtxFunctionPointer)pop;
    *functions[NVTX_CBID_CORE2_DomainRangeStartEx] = (NvtxFunctionPointer)start;
    *functions[NVTX_CBID_CORE2_DomainRangeEnd] = (NvtxFunctionPointer)end;
    return 1;
}
