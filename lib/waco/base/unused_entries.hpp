// What keeps folders of the cache from growing: entries that are not used go, and those that were never
// finished.
#pragma once

#include <filesystem>
#include <string_view>

namespace waco {

/// Removes what runs that were killed an hour ago or earlier were writing in `folder`: entries with a
/// temporary_name, of names that begin with `of`.
void remove_leftovers(const std::filesystem::path& folder, std::string_view of = "");

/// Whether no process has tidied `folder` within the last ten minutes; from now on this one has. On network
/// file systems a look at thousands of files takes long, and many jobs may share a folder. False where it
/// can't be noted.
bool is_due_for_tidying(const std::filesystem::path& folder);

/// Makes now the date of `file`, that of an entry's last use. Where that fails the entry may be removed
/// early.
void note_use(const std::filesystem::path& file);

/// Removes entries of `folder` whose names begin with `prefix` and which were not used for a month. An
/// entry's last use is its date, that of a folder the date of the file `dated` in it, where there is one.
void remove_unused_entries(const std::filesystem::path& folder, std::string_view prefix,
                           std::string_view dated = "");

}  // namespace waco
