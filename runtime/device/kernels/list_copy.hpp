#pragma once

// A list of copies as threads of a device carry it out. For compilers of kernels (list_copy.cu),
// for the library, which writes such lists, and for tests, which run the same on the host. Needs no
// headers but this one.

#include <stdint.h> // NOLINT(modernize-deprecated-headers): there may be no <cstdint>

#ifdef __CUDACC__
#define NODEAWARE_ON_DEVICE __device__ __forceinline__
#define NODEAWARE_GLOBAL
#elif defined(__CUDA__) // clang without the toolkit
#define NODEAWARE_ON_DEVICE __attribute__((device, always_inline)) inline
#define NODEAWARE_GLOBAL __attribute__((address_space(1)))
#else
#define NODEAWARE_ON_DEVICE inline
#define NODEAWARE_GLOBAL
#endif

namespace nodeaware::device {

/// Bytes in a row, from the bases of the list on.
struct ListEntry {
    uint32_t to;
    uint32_t from;
    uint32_t bytes;
};

/// Entries for one block of threads: each is copied by so many of them (a power of two).
struct ListPart {
    uint32_t first;
    uint16_t entries;
    uint16_t lanes;
};

/// What the kernel is given. All addresses are the device's.
struct CopyList {
    uint64_t to; ///< bases, to which entries add; they may be below 0
    uint64_t from;
    uint64_t entries; ///< address of the first ListEntry
    uint64_t parts;   ///< address of the first ListPart
    uint64_t part_count;
};

/// Of threads, in a block.
constexpr uint32_t list_block = 256;

struct alignas(16) SixteenBytes {
    uint64_t first;
    uint64_t second;
} __attribute__((may_alias));
typedef uint64_t EightBytes __attribute__((may_alias)); // NOLINT(modernize-use-using): nvcc
typedef uint32_t FourBytes __attribute__((may_alias));  // NOLINT(modernize-use-using)
typedef uint16_t TwoBytes __attribute__((may_alias));   // NOLINT(modernize-use-using)

template <class Word> NODEAWARE_ON_DEVICE NODEAWARE_GLOBAL Word* words_at(uint64_t address) {
    return reinterpret_cast<NODEAWARE_GLOBAL Word*>(address);
}
template <class Word> NODEAWARE_ON_DEVICE Word get(const NODEAWARE_GLOBAL Word* word) {
    return *word;
}
template <class Word> NODEAWARE_ON_DEVICE void put(NODEAWARE_GLOBAL Word* word, Word value) {
    *word = value;
}
// Member by member: clang has no copies of structures from one kind of memory to another.
NODEAWARE_ON_DEVICE SixteenBytes get(const NODEAWARE_GLOBAL SixteenBytes* word) {
    return {word->first, word->second};
}
NODEAWARE_ON_DEVICE ListEntry get(const NODEAWARE_GLOBAL ListEntry* entry) {
    return {entry->to, entry->from, entry->bytes};
}
NODEAWARE_ON_DEVICE void put(NODEAWARE_GLOBAL SixteenBytes* word, SixteenBytes value) {
    word->first = value.first;
    word->second = value.second;
}

/// Neighbouring lanes move neighbouring words. `are_many`: each lane has several on their way.
template <class Word, bool are_many>
NODEAWARE_ON_DEVICE void copy_words(uint64_t to, uint64_t from, uint32_t words, uint32_t lane,
                                    uint32_t lanes) {
    const NODEAWARE_GLOBAL Word* const source = words_at<const Word>(from);
    NODEAWARE_GLOBAL Word* const target = words_at<Word>(to);
    uint32_t i = lane;
    for (; are_many && i + 3 * lanes < words; i += 4 * lanes) {
        const Word one = get(source + i);
        const Word two = get(source + i + lanes);
        const Word three = get(source + i + 2 * lanes);
        const Word four = get(source + i + 3 * lanes);
        put(target + i, one);
        put(target + i + lanes, two);
        put(target + i + 2 * lanes, three);
        put(target + i + 3 * lanes, four);
    }
    for (; i < words; i += lanes) { put(target + i, get(source + i)); }
}

/// `width`: of the words, which both addresses and the number of bytes are multiples of.
template <bool are_many>
NODEAWARE_ON_DEVICE void copy_in_words(uint32_t width, uint64_t to, uint64_t from, uint32_t bytes,
                                       uint32_t lane, uint32_t lanes) {
    switch (width) {
    case 16: return copy_words<SixteenBytes, are_many>(to, from, bytes / 16, lane, lanes);
    case 8: return copy_words<EightBytes, are_many>(to, from, bytes / 8, lane, lanes);
    case 4: return copy_words<FourBytes, are_many>(to, from, bytes / 4, lane, lanes);
    case 2: return copy_words<TwoBytes, are_many>(to, from, bytes / 2, lane, lanes);
    default: return copy_words<unsigned char, are_many>(to, from, bytes, lane, lanes);
    }
}

/// 16, or the largest power of two below that divides the number.
NODEAWARE_ON_DEVICE uint32_t width_of(uint64_t number) {
    const uint32_t bits = static_cast<uint32_t>(number) | 16U;
    return bits & (0U - bits);
}

/// In the widest words that are aligned on both sides; before and behind them in those that all is
/// made of.
NODEAWARE_ON_DEVICE void copy_run(uint64_t to, uint64_t from, uint32_t bytes, uint32_t lane,
                                  uint32_t lanes) {
    const uint32_t narrow = width_of(to | from | bytes);
    // Short ones are all copied in the same way, so that neighbours stay side by side.
    const uint32_t width = bytes < 32 ? narrow : width_of(to ^ from);
    const uint32_t to_aligned = static_cast<uint32_t>(0U - to) & (width - 1U);
    const uint32_t head = to_aligned < bytes ? to_aligned : bytes;
    const uint32_t body = (bytes - head) & ~(width - 1U);
    const uint32_t tail = head + body;
    if (head > 0) { copy_in_words<false>(narrow, to, from, head, lane, lanes); }
    copy_in_words<true>(width, to + head, from + head, body, lane, lanes);
    if (tail < bytes) {
        copy_in_words<false>(narrow, to + tail, from + tail, bytes - tail, lane, lanes);
    }
}

/// Four entries, which are on their way at the same time.
struct FourEntries {
    ListEntry one, two, three, four;
};

/// False: not all of them are one word, aligned on both sides.
template <class Word>
NODEAWARE_ON_DEVICE bool copy_as_words(const CopyList& list, const FourEntries& e) {
    const uint32_t bytes = sizeof(Word);
    const bool are_words = e.one.bytes == bytes && e.two.bytes == bytes && e.three.bytes == bytes &&
                           e.four.bytes == bytes;
    const uint64_t places = list.to | list.from;
    const uint32_t offsets = e.one.to | e.one.from | e.two.to | e.two.from | e.three.to |
                             e.three.from | e.four.to | e.four.from;
    if (!are_words || ((places | offsets) & (bytes - 1U)) != 0) { return false; }
    const Word one = get(words_at<const Word>(list.from + e.one.from));
    const Word two = get(words_at<const Word>(list.from + e.two.from));
    const Word three = get(words_at<const Word>(list.from + e.three.from));
    const Word four = get(words_at<const Word>(list.from + e.four.from));
    put(words_at<Word>(list.to + e.one.to), one);
    put(words_at<Word>(list.to + e.two.to), two);
    put(words_at<Word>(list.to + e.three.to), three);
    put(words_at<Word>(list.to + e.four.to), four);
    return true;
}

/// Of entries of one lane each, from the `next`-th on, four at a time as long as they are words;
/// which is the next then.
NODEAWARE_ON_DEVICE uint32_t copy_at_once(const CopyList& list,
                                          const NODEAWARE_GLOBAL ListEntry* entries, uint32_t next,
                                          uint32_t end) {
    constexpr uint64_t apart = list_block;
    for (; next + 3 * list_block < end; next += 4 * list_block) {
        const NODEAWARE_GLOBAL ListEntry* const first = entries + next;
        const FourEntries e = {get(first), get(first + apart), get(first + 2 * apart),
                               get(first + 3 * apart)};
        if (!copy_as_words<EightBytes>(list, e) && !copy_as_words<SixteenBytes>(list, e) &&
            !copy_as_words<FourBytes>(list, e)) {
            break;
        }
    }
    return next;
}

/// What one thread of one block does. There are list_block threads in a block, and no thread waits
/// for another.
NODEAWARE_ON_DEVICE void copy_as_thread(const CopyList& list, uint32_t block, uint32_t blocks,
                                        uint32_t thread) {
    for (uint64_t i = block; i < list.part_count; i += blocks) {
        const NODEAWARE_GLOBAL ListPart& part = words_at<const ListPart>(list.parts)[i];
        const uint32_t end = part.first + part.entries;
        const uint32_t lanes = part.lanes;
        const NODEAWARE_GLOBAL ListEntry* const entries = words_at<const ListEntry>(list.entries);
        uint32_t k = part.first + thread / lanes;
        if (lanes == 1) { k = copy_at_once(list, entries, k, end); }
        ListEntry next = {0, 0, 0};
        if (k < end) { next = get(entries + k); }
        while (k < end) {
            const ListEntry entry = next;
            k += list_block / lanes;
            // On its way while bytes are: the list may be far away.
            if (k < end) { next = get(entries + k); }
            copy_run(list.to + entry.to, list.from + entry.from, entry.bytes, thread & (lanes - 1U),
                     lanes);
        }
    }
}

} // namespace nodeaware::device
